package rediscluster

import (
	"context"
	"time"

	"github.com/joomcode/redispipe/internal/backend"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster/internal/route"
)

// nodesHolder is embedded in a Cluster. Through it redispubsub finds the nodes.
type nodesHolder = backend.NodesHolder

var (
	_ backend.Cluster  = (*routed)(nil)
	_ backend.Reporter = (*routed)(nil)
)

// Master implements backend.Nodes.
func (w *routed) Master(slot int) backend.Node {
	if s := w.c.topology.Load().Shard(slot); s != nil {
		return pushNode(s.Master)
	}
	return nil
}

// Sharded implements backend.Cluster.
func (w *routed) Sharded() bool { return w.c.rules.Sharded }

// Masters implements backend.Cluster.
func (w *routed) Masters() redis.Sender { return w.c }

// OnLeft implements backend.Cluster.
func (w *routed) OnLeft(ctx context.Context, f func(slot int)) {
	key := new(byte)
	w.c.onLeft.Store(key, f)
	context.AfterFunc(ctx, func() { w.c.onLeft.Delete(key) })
}

// Publisher implements backend.Nodes.
func (w *routed) Publisher(slot int) backend.Node {
	return pushNode(w.c.topology.Load().Publisher(slot))
}

// MovedTo implements backend.Nodes.
func (w *routed) MovedTo(from backend.Node, addr string) backend.Node {
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

// All implements backend.Nodes.
func (w *routed) All() (masters, replicas []backend.Node, since time.Time) {
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

// Changed implements backend.Nodes.
func (w *routed) Changed() <-chan struct{} { return w.c.topology.Load().Replaced }

// Panicked implements backend.Reporter.
func (w *routed) Panicked(v any, stack []byte) { w.c.panicked(v, stack) }

// ForceReloading implements backend.Nodes.
func (w *routed) ForceReloading() { w.c.ForceReloading() }

// pushNode returns one of the node's connections, always the same one, or nil if the node is nil or
// its address is not known.
func pushNode(n *route.Node) backend.Node {
	if n == nil || len(n.Links) == 0 {
		return nil
	}
	return n.Links[0].Conn
}
