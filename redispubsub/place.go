package redispubsub

import (
	"slices"
	"time"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
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
			m.settleLocked(refused)
			s.removeLocked(t, m, refused)
		}
		t.feed.settleIfThere(t)
		return
	}
	s.nodes.ForceReloading()
	if to, ok := redis.AsErrorx(err).Property(redis.EKMovedTo); ok && t.hops < hopsMost {
		if addr, _ := to.(string); addr != "" {
			if conn := s.nodes.PushNodeAt(addr); conn != nil && conn != t.feed.key.conn {
				t.hops++
				touched[s.moveLocked(t, conn)] = struct{}{}
				return
			}
		}
	}
	s.delayLocked(t)
	t.feed.settleLocked(t)
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
	touched := map[*feed]struct{}{}
	for _, t := range s.topics {
		if _, delayed := s.delayed[t]; !delayed {
			s.placeLocked(t, touched)
		}
	}
	s.mu.Unlock()
	reconcileAll(touched)
}

// placeDelayed places topics of which the pause is over, and returns how long the next
// one has to wait.
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
	s.mu.Unlock()
	reconcileAll(touched)
	return wait
}

// placeLocked puts a topic on the feed of the node that has it. If none is known it is
// tried again later.
func (s *Subscriber) placeLocked(t *topic, touched map[*feed]struct{}) {
	var conn *redisconn.Connection
	if t.key.slot() != anySlot {
		conn = s.nodes.PushNode(t.key.slot())
	} else {
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
		f = s.moveLocked(t, conn)
	}
	if f.topics[t.key.Topic] == t {
		f.settleLocked(t)
	}
	touched[f] = struct{}{}
}

// stayLeast is for how long a node can't be reached before its topics go to another one,
// if any node has them. That one may get a message by the cluster's bus later than it
// came by the first, which would be twice then. The bus takes less than 1 ms, but for
// nodes that are stopped or overloaded.
const stayLeast = 100 * time.Millisecond

// anyNodeLocked chooses the node of a topic that all nodes have: the one where it is,
// unless that can't be reached; one that has a socket already; any.
func (s *Subscriber) anyNodeLocked(t *topic) *redisconn.Connection {
	nodes, _ := s.nodes.PushNodes()
	if f := t.feed; f != nil && (f.state != SocketDown || time.Since(f.changed) < stayLeast) && slices.Contains(nodes, f.key.conn) {
		return f.key.conn
	}
	var up *redisconn.Connection
	for _, conn := range nodes {
		if f := s.feeds[feedKey{conn, t.key.owner}]; f != nil && f.state == SocketConnected {
			return conn
		}
		if up == nil && conn.ConnectedNow() {
			up = conn
		}
	}
	if up == nil {
		up = s.nodes.PushNode(anySlot)
	}
	return up
}

// moveLocked puts a topic on the feed of a node, off that of another. What is left there
// of it is unsubscribed, and nobody gets what still comes by it.
func (s *Subscriber) moveLocked(t *topic, conn *redisconn.Connection) *feed {
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
	there.members, there.hops, there.pause, there.alone = members, t.hops, t.pause, t.alone
	s.topics[t.key] = there
	delete(s.delayed, t)
	if from := t.feed; from != nil {
		if t.live {
			from.openGapsLocked(t, from.session, SlotMoved, nil)
		}
		t.members = nil
		from.settleIfThere(t)
	}
	to.settleLocked(there)
	return to
}
