package redispubsub

import (
	"context"
	"time"

	"github.com/joomcode/redispipe/internal/inner"
	"github.com/joomcode/redispipe/internal/wire"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
)

// Nodes is a cluster: a *rediscluster.Cluster, or what embeds one.
type Nodes interface {
	// Inner is for packages of this module: nobody else can call it.
	Inner(wire.Ask) wire.Inner[redis.Future]
	// ForceReloading has the nodes found out again soon.
	ForceReloading()
	// Ctx returns the context that the subscriber ends with.
	Ctx() context.Context
}

// oneNode is the Nodes of a connection.
type oneNode struct {
	inner.Nodes // for what nobody asks of them: it is nil
	conn        *redisconn.Connection
}

func (n oneNode) Master(int) inner.Node      { return n.conn }
func (n oneNode) Publisher(int) inner.Node   { return n.conn }
func (n oneNode) MasterAt(string) inner.Node { return nil }
func (n oneNode) ForceReloading()            {}
func (n oneNode) Changed() <-chan struct{}   { return nil }
func (n oneNode) All() (masters, replicas []inner.Node, since time.Time) {
	return []inner.Node{n.conn}, nil, time.Time{}
}
