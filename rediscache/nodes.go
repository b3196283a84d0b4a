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
	one    *redisconn.Connection // the single connection, or nil if all is set
	all    backend.Cluster
	placed atomic.Pointer[placement]
}

// placement maps slots to feeds. A placement never changes; a new one replaces it.
type placement struct {
	feeds map[backend.Node]*feed
	of    [slot.Count]*feed // nil: no node serves the slot
}

// local returns the local address of the single connection, if it has a socket.
func (n *nodes) local() string {
	if n.one == nil {
		return ""
	}
	return n.one.LocalAddr()
}

// lead reports whether a tracker and the single connection lead to the same server process. An address may
// belong to several servers. If the servers do not report their run_id, lead returns true. In a cluster it
// also returns true, because each node has its own address.
func (n *nodes) lead(ctx context.Context, tracker redis.Sender) bool {
	if n.one == nil {
		return true
	}
	ask := func(s redis.Sender) string { return sock.RunID(redis.SyncCtx{S: s}.Do(ctx, "INFO", "server")) }
	theirs, ours := ask(tracker), ask(n.one)
	return theirs == ours || theirs == "" || ours == ""
}

// check ends the lease if the tracking socket may lead to a different server than the connection.
func (n *nodes) check() {
	if n.one != nil {
		n.each((*feed).endIfOutdated)
	}
}

// feed returns the feed of the node that serves a slot, and the lease for reads that begin now. Either is
// nil if there is none.
func (n *nodes) feed(slot int) (*feed, *memory.Lease) {
	slot = max(slot, 0)
	for {
		p := n.placed.Load()
		f := p.of[slot]
		if f == nil {
			return nil, nil
		}
		if n.one == nil && p.feeds[n.master(slot)] != f {
			return f, nil // no lease: the slot has a new master, whose writes this node may lack
		}
		l := f.lease.Load()
		// If the placement has changed since, the lease may be newer than the loss of the slot, and must not
		// be used for the slot.
		if n.placed.Load() == p {
			return f, l
		}
	}
}

// place creates and closes feeds, so that there is one for each master. If a node has lost slots, place
// replaces the lease of its feed. Only one goroutine may call it at a time.
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
	affected := map[*feed]bool{}
	for s := range p.of {
		p.of[s] = of(c.nodes.master(s))
		if old := before.of[s]; old != nil && old != p.of[s] {
			affected[old] = true
		}
	}
	for n, f := range before.feeds {
		if p.feeds[n] == nil {
			f.close() // before placed changes, so that nodes.each finds every feed that is not closed
		}
	}
	c.nodes.placed.Store(p)
	for f := range affected {
		f.replaceLease()
	}
}

// left drops the replies that were read on the former master of a slot, which has lost the slot.
func (c *core) left(slot int) {
	if f := c.nodes.placed.Load().of[slot]; f != nil {
		f.replaceLease()
	}
}

func (n *nodes) master(slot int) backend.Node {
	if n.one != nil {
		return n.one
	}
	return n.all.Master(slot)
}

// changed returns a channel that is closed when the nodes change.
func (n *nodes) changed() <-chan struct{} {
	if n.one != nil {
		return nil
	}
	return n.all.Changed()
}

// scripted reports whether the connections have ScriptMode.
func (n *nodes) scripted() (scripted bool) {
	n.each(func(f *feed) { scripted = scripted || f.conn.Terms().Scripted })
	return scripted
}

// each calls f with each feed.
func (n *nodes) each(f func(*feed)) {
	for _, feed := range n.placed.Load().feeds {
		f(feed)
	}
}
