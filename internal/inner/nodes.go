package inner

import (
	"context"
	"time"

	"github.com/joomcode/redispipe/internal/push"
	"github.com/joomcode/redispipe/internal/wire"
	"github.com/joomcode/redispipe/redis"
)

// Node is a server that can be subscribed on: a *redisconn.Connection. The same node is
// always the same value.
type Node interface {
	Addr() string
	OpenPush(ctx context.Context) (*push.Socket, error)
}

// Nodes is the [wire.Inner] of a rediscluster.Cluster: where a subscriber finds servers.
type Nodes interface {
	wire.Inner[redis.Future]
	// Master returns the master of a slot, or nil if nobody serves it.
	Master(slot int) Node
	// Publisher returns the node that PUBLISH to a channel of the slot is sent to, a master
	// that is connected; nil if none is.
	Publisher(slot int) Node
	// MasterAt returns the master with an address, or nil.
	MasterAt(addr string) Node
	// All returns all masters and all replicas, and a time at which they were known to be
	// still those before.
	All() (masters, replicas []Node, since time.Time)
	// Changed returns a channel that is closed when other nodes, or other slots of theirs,
	// are known.
	Changed() <-chan struct{}
	// ForceReloading has the nodes found out again soon. It does not wait.
	ForceReloading()
}

// NodesOf returns the Nodes of a cluster, or of what embeds one: nothing is sent through
// them. It returns nil if there are none.
func NodesOf(cluster interface {
	Inner(wire.Ask) wire.Inner[redis.Future]
}) Nodes {
	nodes, _ := cluster.Inner(wire.Ask{Embedded: true}).(Nodes)
	return nodes
}
