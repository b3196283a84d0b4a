package rediscluster

import (
	"time"

	"github.com/joomcode/redispipe/internal/route"
	"github.com/joomcode/redispipe/redisconn"
)

// PushNode is for package redispubsub: see redispubsub.Nodes.
func (c *Cluster) PushNode(slot int) *redisconn.Connection {
	if s := c.topology.Load().Shard(slot); s != nil {
		return anyConn(s.Master)
	}
	return nil
}

// PushNodeOf is for package redispubsub: see redispubsub.Nodes.
func (c *Cluster) PushNodeOf(slot int) *redisconn.Connection {
	return anyConn(c.topology.Load().Publisher(slot))
}

// PushNodeAt is for package redispubsub: see redispubsub.Nodes.
func (c *Cluster) PushNodeAt(addr string) *redisconn.Connection {
	if n := c.topology.Load().Find(addr); n != nil && !n.Replica {
		return anyConn(n)
	}
	return nil
}

// PushNodes is for package redispubsub: see redispubsub.Nodes.
func (c *Cluster) PushNodes() (masters, replicas []*redisconn.Connection, since time.Time, changed <-chan struct{}) {
	t := c.topology.Load()
	for _, s := range t.Shards {
		for _, n := range s.Nodes {
			conn := anyConn(n)
			switch {
			case conn == nil:
			case n.Replica:
				replicas = append(replicas, conn)
			default:
				masters = append(masters, conn)
			}
		}
	}
	return masters, replicas, t.Since, t.Replaced
}

// anyConn returns one of the node's connections, always the same: nil if its address
// is not known, or there is no node.
func anyConn(n *route.Node) *redisconn.Connection {
	if n == nil || len(n.Links) == 0 {
		return nil
	}
	return n.Links[0].Conn
}
