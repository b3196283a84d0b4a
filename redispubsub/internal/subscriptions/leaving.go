package subscriptions

import (
	"slices"
	"time"

	"github.com/joomcode/redispipe/internal/lifetime"
	"github.com/joomcode/redispipe/internal/pubsub"
	"github.com/joomcode/redispipe/redispubsub/internal/inbox"
)

// While a slot moves it may have two owners. The old owner accepts messages until it knows the new one,
// and subscribers on the new owner do not get these messages. So a moving sharded channel stays
// subscribed on its old node until that node unsubscribes or refuses it, or the session ends. Until then
// the gap covers all messages of both nodes.

// leavingMost bounds how long two nodes may both accept the messages of a topic. An old node that still
// answers keeps a gap open for at most leavingMost, and a gap starts at most leavingMost before the client
// learned of the new node. A master learns of a slot's new owner within milliseconds, or as soon as its link
// to the other nodes works again. A node that has not learned of the new owner within leavingMost is cut off
// from the others, or is not in a cluster but watched by sentinels.
const leavingMost = 2 * time.Second

// beginLeaving starts to wait until the old node of a moved topic ends the subscription, if that node may
// still accept messages for the topic. There are two exceptions. A node that has answered MOVED accepts no
// messages; its topic is not live. Nor does a master that ended the subscription when it became a replica,
// although it accepts the subscription again as a replica.
func (t *topic) beginLeaving(why inbox.Reason) {
	if t.key.Kind != pubsub.Sharded || !t.live && t.asked == nil || t.givenUp && why == inbox.Failover {
		return
	}
	t.leaving = time.Now().Add(leavingMost)
	t.t.leaving[t.key] = append(t.t.leaving[t.key], t)
	lifetime.Wake(t.t.toPlace) // so that Place is called again when leavingMost has passed
}

// hasLeft ends the wait for the old node of a topic. When the last such wait for the topic has ended, its
// members get messages again.
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

// leaveOverdue ends the waits that have lasted leavingMost. It returns the time until the next wait must
// end, or wait if that is shorter.
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
