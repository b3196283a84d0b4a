package redispipe

import (
	"context"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redispubsub"
)

// servers is the interface of a client to its servers. There are two implementations: one server,
// and several.
type servers interface {
	Close()
	Shutdown(ctx context.Context) error
	Reauthenticate(ctx context.Context) error
	withPolicy(policy rediscluster.ReplicaPolicyEnum) redis.Sender
	stats() rediscluster.Stats
	subscribe(opts redispubsub.Opts) *redispubsub.Subscriber
}

// oneServer is a single server.
type oneServer struct{ *redisconn.Connection }

func (o oneServer) withPolicy(rediscluster.ReplicaPolicyEnum) redis.Sender { return o.Connection }

func (o oneServer) stats() rediscluster.Stats {
	stats := o.Stats()
	return rediscluster.Stats{
		Total: stats,
		Nodes: []rediscluster.NodeStats{{Addr: o.Addr(), Conns: []redisconn.Stats{stats}}},
	}
}

func (o oneServer) subscribe(opts redispubsub.Opts) *redispubsub.Subscriber {
	s, _ := redispubsub.New(o.Connection, opts) // New fails only if the connection is nil
	return s
}

// manyServers is a cluster of nodes, or a master with replicas.
type manyServers struct{ *rediscluster.Cluster }

func (s manyServers) stats() rediscluster.Stats { return s.Stats() }

func (s manyServers) withPolicy(policy rediscluster.ReplicaPolicyEnum) redis.Sender {
	return s.WithPolicy(policy)
}

func (s manyServers) subscribe(opts redispubsub.Opts) *redispubsub.Subscriber {
	sub, _ := redispubsub.NewCluster(s.Cluster, opts) // NewCluster fails only if the cluster is nil
	return sub
}
