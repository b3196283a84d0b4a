package rediscluster

import (
	"slices"
	"time"

	"github.com/joomcode/redispipe/internal/topology"
	"github.com/joomcode/redispipe/redisconn"
)

// PushNode is for package redispubsub: see redispubsub.Nodes.
func (c *Cluster) PushNode(slot int) *redisconn.Connection {
	if s := c.topology.Load().shard(slot); s != nil {
		return s.master.anyConn()
	}
	return nil
}

// PushNodeOf is for package redispubsub: see redispubsub.Nodes.
func (c *Cluster) PushNodeOf(slot int) *redisconn.Connection {
	if n := c.topology.Load().publisher(slot); n != nil {
		return n.anyConn()
	}
	return nil
}

// publisher returns the node that the channels of a slot are published on: its master or,
// while that one is not connected, the next master of the topology that is, which has
// their messages by the bus. It returns nil if none is.
func (t *snapshot) publisher(slot int) *node {
	first := int(t.layout.Slots[slot])
	if first == topology.NoShard {
		first = 0
	}
	for i := range t.shards {
		n := t.shards[(first+i)%len(t.shards)].master
		if n.isUp() || i == 0 && n.isConnecting() {
			return n
		}
	}
	return nil
}

// isConnecting reports whether one of the node's connections is being made.
func (n *node) isConnecting() bool {
	return slices.ContainsFunc(n.links, func(l *link) bool { return l.state.Load() == linkConnecting })
}

// PushNodeAt is for package redispubsub: see redispubsub.Nodes.
func (c *Cluster) PushNodeAt(addr string) *redisconn.Connection {
	if n := c.topology.Load().find(addr); n != nil && !n.replica {
		return n.anyConn()
	}
	return nil
}

// PushNodes is for package redispubsub: see redispubsub.Nodes.
func (c *Cluster) PushNodes() (masters, replicas []*redisconn.Connection, since time.Time, changed <-chan struct{}) {
	t := c.topology.Load()
	for _, s := range t.shards {
		for _, n := range s.nodes {
			conn := n.anyConn()
			switch {
			case conn == nil:
			case n.replica:
				replicas = append(replicas, conn)
			default:
				masters = append(masters, conn)
			}
		}
	}
	return masters, replicas, t.since, t.replaced
}

// anyConn returns one of the node's connections, always the same: nil if its address
// is not known.
func (n *node) anyConn() *redisconn.Connection {
	if len(n.links) == 0 {
		return nil
	}
	return n.links[0].conn
}
