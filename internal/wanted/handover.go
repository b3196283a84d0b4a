package wanted

import (
	"slices"
	"time"

	"github.com/joomcode/redispipe/internal/inbox"
	"github.com/joomcode/redispipe/internal/pubsub"
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

// beginLeaving begins to wait for the node of a topic that has moved to another one, if that
// node may still take messages for it. It does not if it has said that the topic has moved:
// then the topic is not live. Nor does a master that has given the topic up and become a
// replica, though as a replica it subscribes the topic again.
func (t *topic) beginLeaving(why inbox.Reason) {
	if t.key.Kind != pubsub.Sharded || !t.live && t.asked == nil || t.givenUp && why == inbox.Failover {
		return
	}
	t.leaving = time.Now().Add(handoverMost)
	t.t.leaving[t.key] = append(t.t.leaving[t.key], t)
	inbox.Signal(t.t.toPlace) // so that the bound is heeded
}

// hasLeft ends the wait for the node of a topic. When there is none for the topic any more,
// those who have followed it get messages again.
func (t *topic) hasLeft() {
	if t.leaving.IsZero() {
		return
	}
	t.leaving = time.Time{}
	t.settle()
	leaving := t.t.leaving
	leaving[t.key] = slices.DeleteFunc(leaving[t.key], func(other *topic) bool { return other == t })
	if len(leaving[t.key]) > 0 {
		return
	}
	delete(leaving, t.key)
	if now := t.t.topics[t.key]; now != nil {
		now.settle()
	}
}

// stopLeaving has a topic that nobody wants any more unsubscribed where it was, too.
func (t *Table) stopLeaving(k key) {
	for _, top := range slices.Clone(t.leaving[k]) {
		top.hasLeft()
	}
}

// leaveOverdue ends the waits that are over, and returns how long the next one lasts, at
// most wait.
func (t *Table) leaveOverdue(now time.Time, wait time.Duration) time.Duration {
	for _, topics := range t.leaving {
		for _, top := range slices.Clone(topics) {
			if top.leaving.After(now) {
				wait = min(wait, top.leaving.Sub(now))
			} else {
				top.hasLeft()
			}
		}
	}
	return wait
}
