package rediscluster

import (
	"time"

	"github.com/joomcode/redispipe/internal/inner"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster/internal/route"
)

var (
	_ inner.Cluster  = (*within)(nil)
	_ inner.Reporter = (*within)(nil)
)

// Master implements inner.Nodes.
func (w *within) Master(slot int) inner.Node {
	if s := w.c.topology.Load().Shard(slot); s != nil {
		return pushNode(s.Master)
	}
	return nil
}

// Sharded implements inner.Cluster.
func (w *within) Sharded() bool { return w.c.rules.Sharded }

// Masters implements inner.Cluster.
func (w *within) Masters() redis.Sender { return w.c }

// Publisher implements inner.Nodes.
func (w *within) Publisher(slot int) inner.Node {
	return pushNode(w.c.topology.Load().Publisher(slot))
}

// MovedTo implements inner.Nodes.
func (w *within) MovedTo(from inner.Node, addr string) inner.Node {
	n := w.c.topology.Load().Find(addr)
	if n == nil || n.Replica {
		return nil
	}
	to := pushNode(n)
	if to == from {
		n.Refused.Store(true)
		return nil
	}
	return to
}

// All implements inner.Nodes.
func (w *within) All() (masters, replicas []inner.Node, since time.Time) {
	t := w.c.topology.Load()
	for _, s := range t.Shards {
		for _, n := range s.Nodes {
			node := pushNode(n)
			switch {
			case node == nil:
			case n.Replica:
				replicas = append(replicas, node)
			default:
				masters = append(masters, node)
			}
		}
	}
	return masters, replicas, t.Since
}

// Changed implements inner.Nodes.
func (w *within) Changed() <-chan struct{} { return w.c.topology.Load().Replaced }

// Panicked implements inner.Reporter.
func (w *within) Panicked(v any, stack []byte) { w.c.panicked(v, stack) }

// ForceReloading implements inner.Nodes.
func (w *within) ForceReloading() { w.c.ForceReloading() }

// pushNode returns one of the node's connections, always the same: nil if its address is not
// known, or there is no node.
func pushNode(n *route.Node) inner.Node {
	if n == nil || len(n.Links) == 0 {
		return nil
	}
	return n.Links[0].Conn
}
