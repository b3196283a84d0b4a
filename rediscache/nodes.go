package rediscache

import (
	"context"
	"sync/atomic"

	"github.com/joomcode/redispipe/internal/backend"
	"github.com/joomcode/redispipe/internal/slot"
	"github.com/joomcode/redispipe/internal/sock"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscache/internal/memory"
	"github.com/joomcode/redispipe/redisconn"
)

// nodes are the masters, each with its feed.
type nodes struct {
	one    *redisconn.Connection // or nil, and there are
	all    backend.Nodes
	placed atomic.Pointer[placement]
}

// placement says which feed has which slot. It is replaced, and never changed.
type placement struct {
	feeds map[backend.Node]*feed
	of    [slot.Count]*feed // nil: nobody serves the slot
}

// local is the local address of the one connection, if it has a socket.
func (n *nodes) local() string {
	if n.one == nil {
		return ""
	}
	return n.one.LocalAddr()
}

// lead reports whether a tracker leads to the server process that the one connection leads to, as
// far as both are told: the address may be that of several. Nodes have addresses of their own.
func (n *nodes) lead(ctx context.Context, tracker redis.Sender) bool {
	if n.one == nil {
		return true
	}
	ask := func(s redis.Sender) string { return sock.RunID(redis.SyncCtx{S: s}.Do(ctx, "INFO", "server")) }
	theirs, ours := ask(tracker), ask(n.one)
	return theirs == ours || theirs == "" || ours == ""
}

// check has the lease end of a socket that may be of another server than the one connection.
func (n *nodes) check() {
	if n.one != nil {
		n.each((*feed).endIfOutdated)
	}
}

// feed returns the feed of the node that serves a slot, and the lease for what is read there
// from now on; nil if there is none.
func (n *nodes) feed(slot int) (*feed, *memory.Lease) {
	slot = max(slot, 0)
	for {
		p := n.placed.Load()
		f := p.of[slot]
		if f == nil {
			return nil, nil
		}
		if n.one == nil && p.feeds[n.master(slot)] != f {
			return f, nil // what was written to the new master may be missing on this one
		}
		l := f.lease.Load()
		// A lease that is as new as a placement without the slot must not be taken for it.
		if n.placed.Load() == p {
			return f, l
		}
	}
}

// place has feeds follow the nodes. Where a node has lost slots, its lease begins anew. It is
// called by one goroutine at a time.
func (c *core) place() {
	before := c.nodes.placed.Load()
	p := &placement{feeds: map[backend.Node]*feed{}}
	of := func(n backend.Node) *feed {
		if n == nil {
			return nil
		}
		f := p.feeds[n]
		if f == nil {
			if f = before.feeds[n]; f == nil {
				f = c.newFeed(n.(*redisconn.Connection))
			}
			p.feeds[n] = f
		}
		return f
	}
	anew := map[*feed]bool{}
	for s := range p.of {
		p.of[s] = of(c.nodes.master(s))
		if old := before.of[s]; old != nil && old != p.of[s] {
			anew[old] = true
		}
	}
	for n, f := range before.feeds {
		if p.feeds[n] == nil {
			f.close() // while each still finds it
		}
	}
	c.nodes.placed.Store(p)
	for f := range anew {
		f.anew()
	}
}

func (n *nodes) master(slot int) backend.Node {
	if n.one != nil {
		return n.one
	}
	return n.all.Master(slot)
}

// changed returns a channel that is closed when there are other nodes.
func (n *nodes) changed() <-chan struct{} {
	if n.one != nil {
		return nil
	}
	return n.all.Changed()
}

// scripted reports whether the connections have ScriptMode.
func (n *nodes) scripted() (scripted bool) {
	n.each(func(f *feed) { scripted = scripted || f.conn.Scripted() })
	return scripted
}

// each calls f with each feed.
func (n *nodes) each(f func(*feed)) {
	for _, feed := range n.placed.Load().feeds {
		f(feed)
	}
}
