package subscriptions

import (
	"slices"
	"time"

	"github.com/joomcode/redispipe/internal/backend"
	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/lifetime"
	"github.com/joomcode/redispipe/internal/pubsub"
	"github.com/joomcode/redispipe/internal/slot"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redispubsub/internal/inbox"
)

const (
	// If no node accepts a topic, the table places it again after a pause. The pause doubles from
	// delayFirst up to delayMost.
	delayFirst = 10 * time.Millisecond
	delayMost  = 500 * time.Millisecond
	// hopsMost bounds how often in a row a topic follows MOVED at once: two nodes may
	// each name the other for a while.
	hopsMost = 3
)

// Place moves topics to their nodes: all topics, or only those whose pause has ended. It also ends waits
// for old nodes that have lasted leavingMost. It returns the time after which to call it again.
func (t *Table) Place(all bool) (wait time.Duration) {
	if all {
		t.look()
		for s := range t.sets {
			if s.On != OneNode {
				s.follow()
			}
		}
		for _, top := range t.topics {
			if _, delayed := t.delayed[top]; !delayed {
				top.place()
			}
		}
	}
	now := time.Now()
	wait = time.Hour
	for top, due := range t.delayed {
		if due.After(now) {
			wait = min(wait, due.Sub(now))
			continue
		}
		delete(t.delayed, top)
		top.place()
	}
	return t.leaveOverdue(now, wait)
}

// Unplaced returns the number of topics that wait for a node.
func (t *Table) Unplaced() int { return len(t.delayed) }

// look records the time when the nodes or their slots have changed.
func (t *Table) look() {
	if changed := t.nodes.Changed(); changed != t.seen {
		t.seen, t.moved = changed, time.Now()
	}
}

// place puts a topic on the feed of its node. If no node is known, it tries again later.
func (t *topic) place() {
	node := t.key.node
	switch {
	case node != nil:
	case t.key.Kind == pubsub.Sharded:
		node = t.t.nodes.Master(pubsub.SlotOf(t.key.Topic))
	default:
		node = t.anyNode()
	}
	switch {
	case len(t.members) == 0: // no longer requested: unsubscribe it on its present node
		t.settle()
	case node == nil && t.feed == nil:
		t.t.nodes.ForceReloading()
		t.delay()
	case node != nil && (t.feed == nil || t.feed.Node != node):
		t.move(node)
	default: // stay: the present node is the right one, or no node is known and the present one may come back
		t.settle()
	}
}

// delay makes Place place a topic again after a pause, which is longer each time.
func (t *topic) delay() {
	t.pause = min(max(2*t.pause, delayFirst), delayMost)
	t.placeIn(t.pause)
}

func (t *topic) placeIn(d time.Duration) {
	t.t.delayed[t] = time.Now().Add(d)
	lifetime.Wake(t.t.toPlace)
}

// anyNode chooses the node of a channel or pattern, whose messages all nodes get. It prefers the present
// node, unless that is unreachable. For a channel it chooses the node on which the cluster publishes, so
// that messages do not depend on the cluster bus and its order. For a pattern it prefers a node that
// already has a socket.
func (t *topic) anyNode() backend.Node {
	masters, _, _ := t.t.nodes.All()
	if f := t.feed; f != nil && (f.State != Down || time.Since(f.Changed) < backend.BusLag) && slices.Contains(masters, f.Node) {
		return f.Node
	}
	if t.key.Kind == pubsub.Pattern {
		for _, node := range masters {
			if f := t.t.feeds[feedKey{node, t.key.owner}]; f != nil && f.State == Connected {
				return node
			}
		}
	}
	return t.t.nodes.Publisher(int(slot.Of(t.key.Name)))
}

// move moves a topic from its feed to the feed of another node. It ends the old subscription, and drops
// messages that still arrive over it.
//
// The client subscribes on the new node after a pause. During that time other nodes may not know the new
// node yet, and pass messages on to the old one; even a replica accepts SPUBLISH. For the same reason the
// client subscribes to a new sharded channel only some time after any change of the nodes.
//
// Over the cluster bus, the new node may get messages that the old node has already delivered. It must
// not deliver them again. So the client subscribes twice, because a node that was stopped first confirms
// and then reads the bus. If the topic is still subscribed on the new node from an earlier time, older
// messages may be on their way, so the client always waits for a new confirmation.
func (t *topic) move(node backend.Node) {
	to := t.t.feed(feedKey{node, t.key.owner})
	there := to.topics[t.key.Topic] // not nil if the same topic is just being unsubscribed on that node
	if there == nil {
		there = &topic{t: t.t, key: t.key, feed: to}
		to.topics[t.key.Topic] = there
	}
	there.endWait()
	there.members, there.hops, there.pause, there.alone, there.heard = t.members, t.hops, t.pause, t.alone, t.heard
	t.t.topics[t.key] = there
	delete(t.t.delayed, t)
	there.fences, there.givenUp = 1, false
	if there.asked != nil && there.asked.Subscribe {
		there.fences++ // the next confirmation may belong to an earlier request
	}
	there.hasLeft() // the topic may have come back to a node that it was leaving
	if t.feed != nil {
		why := t.whyMoved("")
		t.openGaps(why, nil)
		t.members = nil
		t.beginLeaving(why)
		t.settle()
		if t.heard && (t.key.Kind != pubsub.Sharded || why == inbox.Failover) {
			there.fences++
		}
		t.t.moved = time.Now()
	}
	if t.feed != nil && t.heard || t.key.Kind == pubsub.Sharded && time.Since(t.t.moved) < t.t.lag {
		there.doubted = true
		there.placeIn(backend.BusLag)
	}
	there.settle()
}

// whyMoved returns why a topic leaves its node. addr is the address in a MOVED, or empty if the topology
// names the next node.
func (t *topic) whyMoved(addr string) inbox.Reason {
	masters, replicas, _ := t.t.nodes.All()
	named := func(node backend.Node) bool { return node.Addr() == addr }
	if t.replaced() || slices.ContainsFunc(replicas, named) && !slices.ContainsFunc(masters, named) {
		return inbox.Failover
	}
	return inbox.SlotMoved
}

// replaced reports whether the node of a topic that may move is no longer a master.
func (t *topic) replaced() bool {
	masters, _, _ := t.t.nodes.All()
	return t.key.node == nil && len(masters) > 0 && !slices.Contains(masters, t.feed.Node)
}

// refused handles a topic that the server has refused.
func (t *topic) refused(err error) {
	switch {
	case len(t.members) == 0:
		t.settle()
		return
	case !errs.Passes(redis.AsErrorx(err)):
		refused := pubsub.ErrRefused.Wrap(err, "subscribing a %v of %d bytes", t.key.Topic.Kind, len(t.key.Topic.Name))
		for _, m := range t.members {
			m.refuse(t.feed.Node, refused)
		}
		return
	}
	t.t.nodes.ForceReloading()
	to, _ := redis.AsErrorx(err).Property(redis.EKMovedTo)
	addr, _ := to.(string)
	if addr != "" { // MOVED to another node is no error for the user
		err = nil
	}
	t.openGaps(t.whyMoved(addr), err)
	if addr != "" && t.hops < hopsMost {
		if other := t.t.nodes.MovedTo(t.feed.Node, addr); other != nil {
			t.hops++
			t.move(other)
			return
		}
	}
	t.delay()
	t.settle()
}
