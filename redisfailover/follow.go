package redisfailover

import (
	"context"
	"time"

	"github.com/joomcode/redispipe/internal/backend"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redispubsub"
)

// NewSubscriber returns a subscriber on the active member. After a shift its subscriptions move to the
// new active member, and get a [redispubsub.Gap] with the reason [redispubsub.Failover], which begins
// at least two seconds before the shift. If the connection was lost before the shift, the gap begins when
// the connection was lost, with the reason [redispubsub.ConnectionLost]. Subscriptions get only messages
// that are published on the active member. If publishers may shift later than this client, subscribe on
// every member instead (see [MemberState].Sender). While the active member is a Sender of another library,
// subscriptions wait for the next shift. The subscriber is closed with the client. For a client
// that Open has not returned it returns nil, and subscribing fails.
func (c *Client) NewSubscriber(opts redispubsub.Opts) *redispubsub.Subscriber {
	if !c.opened() {
		return nil
	}
	f := follower{c: c}
	sub, _ := redispubsub.NewCluster(&followed{backend.HolderOf(f), f}, opts) // fails only for a value without nodes
	return sub
}

// followed is the redispubsub.Nodes that a client's subscribers use.
type followed struct {
	backend.NodesHolder
	follower
}

// follower implements backend.Nodes with the nodes of the active member.
type follower struct {
	send.Backend[redis.Future] // nil: a subscriber calls none of its methods
	c                          *Client
}

// Ctx returns the context that ends with the client.
func (f follower) Ctx() context.Context { return f.c.ctx }

// Master implements backend.Nodes.
func (f follower) Master(slot int) backend.Node {
	if nodes := f.c.active.Load().nodes; nodes != nil {
		return nodes.Master(slot)
	}
	return nil
}

// Publisher implements backend.Nodes.
func (f follower) Publisher(slot int) backend.Node {
	if nodes := f.c.active.Load().nodes; nodes != nil {
		return nodes.Publisher(slot)
	}
	return nil
}

// MovedTo implements backend.Nodes.
func (f follower) MovedTo(from backend.Node, addr string) backend.Node {
	if nodes := f.c.active.Load().nodes; nodes != nil {
		return nodes.MovedTo(from, addr)
	}
	return nil
}

// All implements backend.Nodes.
func (f follower) All() (masters, replicas []backend.Node, since time.Time) {
	t := f.c.active.Load()
	if t.nodes == nil {
		return nil, nil, t.began
	}
	masters, replicas, since = t.nodes.All()
	if since.IsZero() || t.began.Before(since) {
		since = t.began
	}
	return masters, replicas, since
}

// ForceReloading implements backend.Nodes.
func (f follower) ForceReloading() {
	if nodes := f.c.active.Load().nodes; nodes != nil {
		nodes.ForceReloading()
	}
}

// Changed implements backend.Nodes.
func (f follower) Changed() <-chan struct{} {
	f.c.mu.Lock()
	defer f.c.mu.Unlock()
	return f.c.moved
}

// followLocked tells subscribers that the active member, or its nodes, have changed. Client.mu is held.
func (c *Client) followLocked() {
	if nodes := c.active.Load().nodes; nodes != nil {
		c.seen = nodes.Changed()
	}
	close(c.moved)
	c.moved = make(chan struct{})
}

// nodesOf returns the nodes of a member, for subscribers, or nil if the member has none.
func nodesOf(s redis.Sender) backend.Nodes {
	for {
		s = backend.Inside(s, func(redis.Sender, func(redis.Sender) redis.Sender) {})
		inside, _ := send.Inside(s)
		cache, caches := inside.(interface{ Servers() redis.Sender })
		if !caches {
			break
		}
		s = cache.Servers()
	}
	switch servers := s.(type) {
	case backend.HasNodes:
		return backend.NodesOf(servers)
	case backend.Node:
		return backend.OneNode(servers)
	}
	return nil
}
