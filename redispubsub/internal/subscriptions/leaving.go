package subscriptions

import (
	"slices"
	"time"

	"github.com/joomcode/redispipe/internal/lifetime"
	"github.com/joomcode/redispipe/internal/pubsub"
	"github.com/joomcode/redispipe/redispubsub/internal/inbox"
)

// While a slot moves it may have two owners: the new owner already has it, and the old owner, which
// does not know that yet, still accepts messages, which no subscriber of the new owner gets. So a
// moving sharded channel stays subscribed on its old node until that node unsubscribes or refuses it,
// or the session ends. Until then the gap covers all messages of both nodes.

// leavingMost bounds how long two nodes may both accept the messages of a topic. It bounds how long an
// old node that still answers may keep a gap open, and how long before the news of the new node a gap
// starts. A master learns of a slot's new owner within milliseconds, or when its broken link is up
// again. A node that has not learned of it by then is cut off from the others, or is no cluster node
// but a server that sentinels watch.
const leavingMost = 2 * time.Second

// beginLeaving starts to wait until the old node of a moved topic ends the subscription, if that node
// may still accept messages for it. A node that has answered MOVED accepts none; its topic is not live.
// Neither does a master that ended the subscription when it became a replica, although as a replica it
// accepts the subscription again.
func (t *topic) beginLeaving(why inbox.Reason) {
	if t.key.Kind != pubsub.Sharded || !t.live && t.asked == nil || t.givenUp && why == inbox.Failover {
		return
	}
	t.leaving = time.Now().Add(leavingMost)
	t.t.leaving[t.key] = append(t.t.leaving[t.key], t)
	lifetime.Wake(t.t.toPlace) // Place then ends the wait after leavingMost
}

// hasLeft ends the wait for the old node of a topic. When it was the last such wait for the topic, its
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

// leaveOverdue ends the waits that have lasted leavingMost. It returns the remaining time of the next
// one, or wait if that is shorter.
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
