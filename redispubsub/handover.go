package redispubsub

import (
	"slices"
	"time"
)

// While a slot moves it may have two owners: the new one has taken it, and the old one,
// which does not know yet, confirms messages that nobody gets who has followed the slot. So
// a sharded channel that moves stays subscribed on the node that it leaves, until this node
// unsubscribes or refuses it, or the session with it ends. Until then all messages, of
// either node, are missed, in the gap.

// handoverMost bounds how long two nodes may each take the messages of a topic: how long one
// that goes on answering may keep a gap open, and how much earlier than the news of another
// node a gap begins. A master hears of the new owner of a slot within milliseconds, or when
// a link that was down is up again: one that has not heard by then is cut off from the
// others, or is no node of a cluster, as behind sentinels.
const handoverMost = 2 * time.Second

// leaveLocked begins to wait for the node of a topic that has moved to another one, if that
// node may still take messages for it. It does not if it has said that the topic has moved:
// then the topic is not live. Nor does a master that has given the topic up and become a
// replica, though as a replica it subscribes the topic again.
func (s *Subscriber) leaveLocked(t *topic, why Reason) {
	if !t.key.sharded() || !t.live && t.asked == nil || t.givenUp && why == Failover {
		return
	}
	t.leaving = time.Now().Add(handoverMost)
	s.leaving[t.key] = append(s.leaving[t.key], t)
	signal(s.poke) // so that the bound is heeded
}

// leftLocked ends the wait for the node of a topic. When there is none for the topic any
// more, those who have followed it get messages again.
func (s *Subscriber) leftLocked(t *topic) {
	if t.leaving.IsZero() {
		return
	}
	t.leaving = time.Time{}
	s.leaving[t.key] = slices.DeleteFunc(s.leaving[t.key], func(other *topic) bool { return other == t })
	if len(s.leaving[t.key]) > 0 {
		return
	}
	delete(s.leaving, t.key)
	if now := s.topics[t.key]; now != nil && now.feed != nil {
		now.feed.settleIfThere(now)
	}
}

// leaveAtOnceLocked has a topic that nobody wants any more unsubscribed where it was, too.
func (s *Subscriber) leaveAtOnceLocked(key topicKey, touched map[*feed]struct{}) {
	for _, t := range slices.Clone(s.leaving[key]) {
		s.leftLocked(t)
		t.feed.settleLocked(t)
		touched[t.feed] = struct{}{}
	}
}

// leaveOverdueLocked ends the waits that are over, and returns how long the next one
// lasts, at most wait.
func (s *Subscriber) leaveOverdueLocked(now time.Time, wait time.Duration, touched map[*feed]struct{}) time.Duration {
	for _, topics := range s.leaving {
		for _, t := range slices.Clone(topics) {
			if t.leaving.After(now) {
				wait = min(wait, t.leaving.Sub(now))
				continue
			}
			s.leftLocked(t)
			t.feed.settleLocked(t)
			touched[t.feed] = struct{}{}
		}
	}
	return wait
}
