package rediscache

import (
	"context"
	"runtime/debug"
	"sync/atomic"

	"github.com/joomcode/redispipe/internal/backend"
	"github.com/joomcode/redispipe/internal/lifetime"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscache/internal/memory"
)

// core is the state that all senders of a cache share.
type core struct {
	ctx      context.Context
	cancel   context.CancelCauseFunc
	opts     Opts
	store    *memory.Store
	nodes    nodes
	masters  redis.Sender  // the client that New got, but always with the policy MasterOnly
	backend  origin        // the backend of masters
	sweeping chan struct{} // signals that leases have ended; has room for one

	passed atomic.Int64 // Stats.Passed
}

// run is the core's goroutine: when the nodes change it updates the feeds, and it removes entries whose
// lease has ended. New starts it; it ends with the cache's context.
func (c *core) run(changed <-chan struct{}) {
	for {
		select {
		case <-c.ctx.Done():
			c.nodes.each((*feed).close)
			return
		case <-changed:
			changed = c.nodes.changed() // read first, so that a later change of the nodes is noticed
			c.place()
		case <-c.sweeping:
			c.store.Sweep()
		}
	}
}

func (c *core) sweepSoon() {
	select {
	case c.sweeping <- struct{}{}:
	default:
	}
}

// changed evicts the replies whose keys a request may have modified.
func (c *core) changed(w send.Changes) {
	c.nodes.check()
	if w.All {
		c.nodes.each((*feed).replaceLease)
		return
	}
	for _, key := range w.Keys {
		c.store.Changed(memory.HashOf(key), memory.ByWrite)
	}
}

// origin sends to the servers. It is the backend of a connection or a cluster.
type origin interface {
	send.Backend[redis.Future]
	backend.Reporter
}

// recovered reports a panic of a user's future. Defer it before the future is resolved.
func (c *core) recovered() {
	if v := recover(); v != nil {
		c.backend.Panicked(v, debug.Stack())
	}
}

// listed reports whether each of the keys has one of the prefixes.
func (c *core) listed(keys [][]byte) bool {
	for _, key := range keys {
		if !c.hasPrefix(key) {
			return false
		}
	}
	return true
}

func (c *core) hasPrefix(key []byte) bool {
	for _, prefix := range c.opts.Prefixes {
		if len(key) >= len(prefix) && string(key[:len(prefix)]) == prefix {
			return true
		}
	}
	return false
}

// close closes the cache, but not the client that New got. After it has returned, no read is answered
// from memory.
func (c *core) close() {
	c.cancel(lifetime.ErrClosed)
	c.nodes.each((*feed).close)
}
