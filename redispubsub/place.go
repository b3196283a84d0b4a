package redispubsub

import (
	"slices"
	"time"

	"github.com/joomcode/redispipe/internal/inner"
	"github.com/joomcode/redispipe/internal/slot"
	"github.com/joomcode/redispipe/redis"
)

const (
	// A topic that no node takes now is placed again after a pause that doubles, from
	// the first to the most.
	delayFirst = 10 * time.Millisecond
	delayMost  = 500 * time.Millisecond
	// hopsMost bounds how often in a row a topic follows MOVED at once: two nodes may
	// each name the other for a while.
	hopsMost = 3
)

// passes reports whether what the server said passes by itself.
func passes(err error) bool {
	e := redis.AsErrorx(err)
	return e.HasTrait(redis.ErrTraitTransient) || e.HasTrait(redis.ErrTraitClusterMove)
}

// refusedLocked deals with a topic that the server did not subscribe.
func (s *Subscriber) refusedLocked(t *topic, err error, touched map[*feed]struct{}) {
	if len(t.members) == 0 {
		t.feed.settleIfThere(t)
		return
	}
	if !passes(err) {
		refused := ErrRefused.Wrap(err, "subscribing %v", t.key.Topic)
		for _, m := range t.members {
			s.refuseLocked(m, t.feed, refused, touched)
		}
		return
	}
	s.nodes.ForceReloading()
	f := t.feed
	to, _ := redis.AsErrorx(err).Property(redis.EKMovedTo)
	addr, _ := to.(string)
	f.openGapsLocked(t, f.session, s.whyMoved(f.key.conn, addr), nil)
	if addr != "" && t.hops < hopsMost {
		if conn := s.nodes.MasterAt(addr); conn != nil && conn != f.key.conn {
			t.hops++
			s.moveLocked(t, conn, touched)
			return
		}
	}
	s.delayLocked(t)
	f.settleLocked(t)
}

// whyMoved returns why a topic leaves a node. addr is the node to be asked instead, if
// it is known by its address only.
func (s *Subscriber) whyMoved(from inner.Node, addr string) Reason {
	masters, replicas, _, _ := s.nodes.All()
	named := func(conn inner.Node) bool { return conn.Addr() == addr }
	if !slices.Contains(masters, from) || slices.ContainsFunc(replicas, named) && !slices.ContainsFunc(masters, named) {
		return Failover
	}
	return SlotMoved
}

// settleIfThere is settleLocked for a topic that may be off the feed.
func (f *feed) settleIfThere(t *topic) {
	if f.topics[t.key.Topic] == t {
		f.settleLocked(t)
	}
}

func (s *Subscriber) delayLocked(t *topic) {
	t.pause = min(max(2*t.pause, delayFirst), delayMost)
	s.delayed[t] = time.Now().Add(t.pause)
	signal(s.poke)
}

// placeAll moves topics to the nodes that have them.
func (s *Subscriber) placeAll() {
	s.mu.Lock()
	s.lookLocked()
	touched := map[*feed]struct{}{}
	for sub := range s.subs {
		if sub.on() != OneNode {
			s.followLocked(sub, touched)
		}
	}
	for _, t := range s.topics {
		if _, delayed := s.delayed[t]; !delayed {
			s.placeLocked(t, touched)
		}
	}
	s.mu.Unlock()
	reconcileAll(touched)
}

// lookLocked notes when there are other nodes, or other slots of theirs, than before.
func (s *Subscriber) lookLocked() {
	if _, _, _, changed := s.nodes.All(); changed != s.seen {
		s.seen, s.moved = changed, time.Now()
	}
}

// followLocked has a subscription be on the nodes that there are. What it missed of a new
// one is a gap; so is what it has not received yet of one that is none any more.
func (s *Subscriber) followLocked(sub *Subscription, touched map[*feed]struct{}) {
	masters, replicas, asked, _ := s.nodes.All()
	nodes := sub.nodes(masters, replicas)
	for t, members := range sub.members {
		since := asked
		reason, missing, made := SlotMoved, slices.Clone(nodes), time.Now()
		var kept []*member
		for _, m := range members {
			if m.made.Before(made) {
				made = m.made
			}
			if i := slices.Index(missing, m.key.node); i >= 0 {
				missing, kept = slices.Delete(missing, i, i+1), append(kept, m)
				continue
			}
			reason = Failover
			top := s.topics[m.key]
			if f := top.feed; f.session != nil {
				f.openGapsLocked(top, f.session, reason, nil)
			}
			m.settleLocked(nil, nil)
			s.removeLocked(m, nil, touched)
		}
		sub.members[t] = kept
		for _, node := range missing {
			m := sub.newMember(t, node)
			m.made = made
			if since.Before(made) {
				since = made // nobody was to get anything before
			}
			sub.buffer.miss(m, since, reason)
			s.addLocked(m, touched)
		}
	}
}

// placeDelayed places topics of which the pause is over, and leaves those that have been
// waited for long enough. It returns how long the next one has to wait.
func (s *Subscriber) placeDelayed() (wait time.Duration) {
	s.mu.Lock()
	touched, now := map[*feed]struct{}{}, time.Now()
	wait = time.Hour
	for t, due := range s.delayed {
		if due.After(now) {
			wait = min(wait, due.Sub(now))
			continue
		}
		delete(s.delayed, t)
		s.placeLocked(t, touched)
	}
	wait = s.leaveOverdueLocked(now, wait, touched)
	s.mu.Unlock()
	reconcileAll(touched)
	return wait
}

// placeLocked puts a topic on the feed of the node that has it. If none is known it is
// tried again later.
func (s *Subscriber) placeLocked(t *topic, touched map[*feed]struct{}) {
	conn := t.key.node
	switch {
	case conn != nil:
	case t.key.sharded():
		conn = s.nodes.Master(t.key.slot())
	default:
		conn = s.anyNodeLocked(t)
	}
	f := t.feed
	switch {
	case conn == nil && f == nil:
		s.nodes.ForceReloading()
		s.delayLocked(t)
		return
	case conn == nil: // the one it is on may come back
	case f == nil || f.key.conn != conn:
		t = s.moveLocked(t, conn, touched)
		f = t.feed
	}
	if f.topics[t.key.Topic] == t {
		f.settleLocked(t)
	}
	touched[f] = struct{}{}
}

// busLag is how late what comes by the cluster's bus may be: a message, or the news of a
// slot's new owner. Nodes write it at once, but without TCP_NODELAY: behind another message
// it waits for an acknowledgment, which kernels delay by 40 ms.
//
// It is for how long a node can't be reached before its topics go to another one, if any
// node has them, and for how long nobody is asked for a topic whose node was left.
const busLag = 100 * time.Millisecond

// anyNodeLocked chooses the node of a topic that all nodes have: the one where it is,
// unless that can't be reached; for a channel the one where it is published, so that
// messages do not depend on the bus, nor on its order; for a pattern one that has a socket
// already, or any.
func (s *Subscriber) anyNodeLocked(t *topic) inner.Node {
	nodes, _, _, _ := s.nodes.All()
	if f := t.feed; f != nil && (f.state != SocketDown || time.Since(f.changed) < busLag) && slices.Contains(nodes, f.key.conn) {
		return f.key.conn
	}
	if t.key.Kind == KindPattern {
		for _, conn := range nodes {
			if f := s.feeds[feedKey{conn, t.key.owner}]; f != nil && f.state == SocketConnected {
				return conn
			}
		}
	}
	return s.nodes.Publisher(int(slot.Of(t.key.Name)))
}

// moveLocked puts a topic on the feed of a node, off that of another. What is left there
// of it is unsubscribed, and nobody gets what still comes by it.
//
// The new node is asked after a while. Until then others may not know it, and pass on to
// the old one what they take: a replica takes SPUBLISH, too. For the same reason a sharded
// channel that is new is asked for a while after any change of the nodes.
//
// Nor must the new node bring what has come already. It may have it from the bus: so it is
// asked twice, since one that was stopped confirms at once and reads the bus then. And the
// topic may still be subscribed there from an earlier time, with older messages on the way:
// so a confirmation is waited for in any case.
func (s *Subscriber) moveLocked(t *topic, conn inner.Node, touched map[*feed]struct{}) *topic {
	to := s.feedLocked(feedKey{conn, t.key.owner})
	members := t.members
	there := to.topics[t.key.Topic] // that is being unsubscribed
	if there == nil {
		there = &topic{key: t.key, feed: to}
		to.topics[t.key.Topic] = there
	}
	if there.gone != nil {
		close(there.gone)
		there.gone = nil
	}
	there.members, there.hops, there.pause, there.alone, there.heard = members, t.hops, t.pause, t.alone, t.heard
	s.topics[t.key] = there
	delete(s.delayed, t)
	there.fences, there.givenUp = 1, false
	if there.asked != nil && there.asked.subscribe {
		there.fences++ // what is on its way may confirm an earlier wish
	}
	s.leftLocked(there) // it has come back
	if from := t.feed; from != nil {
		why := s.whyMoved(from.key.conn, "")
		if from.session != nil {
			from.openGapsLocked(t, from.session, why, nil)
		}
		t.members = nil
		s.leaveLocked(t, why)
		from.settleIfThere(t)
		touched[from] = struct{}{}
		if t.heard && (!t.key.sharded() || why == Failover) {
			there.fences++
		}
		s.moved = time.Now()
	}
	if t.feed != nil && t.heard || t.key.sharded() && time.Since(s.moved) < s.lag {
		s.delayed[there], there.doubted = time.Now().Add(busLag), true
		signal(s.poke)
	}
	to.settleLocked(there)
	touched[to] = struct{}{}
	return there
}
