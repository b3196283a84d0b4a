package subscriptions

import (
	"time"

	"github.com/joomcode/redispipe/redispubsub/internal/inbox"
)

func (k key) source() inbox.Source {
	if k.node == nil {
		return inbox.Source{Topic: k.Topic}
	}
	return inbox.Source{Topic: k.Topic, Node: k.node.Addr()}
}

// isOnFeed reports whether a topic is still on its feed.
func (t *topic) isOnFeed() bool { return t.feed != nil && t.feed.topics[t.key.Topic] == t }

// left returns a channel that is closed when the topic is no longer on its feed.
func (t *topic) left() <-chan struct{} {
	if t.away == nil {
		t.away = make(chan struct{})
	}
	return t.away
}

// endWait closes the channel that left has returned, if any.
func (t *topic) endWait() {
	if t.away != nil {
		close(t.away)
		t.away = nil
	}
}

// settle decides whether a topic needs a command, is complete, or must leave its feed. It does nothing
// while a command for the topic is in flight.
func (t *topic) settle() {
	if t.asked != nil || !t.isOnFeed() {
		return
	}
	f, wanted := t.feed, len(t.members) > 0
	_, delayed := t.t.delayed[t]
	delete(f.dirty, t)
	switch {
	case !t.leaving.IsZero() && t.live:
	case wanted && t.live && t.fences == 0:
		t.restore(time.Now())
	case delayed && (wanted || t.live):
	case wanted, t.live:
		f.dirty[t] = struct{}{}
		t.t.touched[f] = struct{}{}
	default:
		t.takeOff()
	}
}

// takeOff removes a topic from its feed. The feed ends with its last topic.
func (t *topic) takeOff() {
	f := t.feed
	delete(f.topics, t.key.Topic)
	t.hasLeft()
	t.endWait()
	if len(f.topics) == 0 {
		delete(t.t.feeds, f.key)
		f.cancel()
	}
}

// restore makes the members of a topic take its messages, unless another node may still accept messages
// for the topic.
func (t *topic) restore(now time.Time) {
	if t.t.leaving[t.key] != nil {
		return
	}
	for _, m := range t.members {
		m.Intake.Restore(t.feed.sock, now)
		m.answered(t.feed.Node, nil)
	}
	if t.doubted {
		t.doubted = false
		t.t.nodes.ForceReloading()
	}
}

// openGaps opens the gaps of a topic's members. No message was lost before the server's last answer, so
// the gaps start at that time. If another node has the topic now, messages may have gone to it before this
// node knew of it, so the gaps start earlier.
func (t *topic) openGaps(reason inbox.Reason, err error) {
	if t.feed.sock == nil {
		return // the gaps are open already
	}
	from := t.feed.sock.Confirmed()
	if t.since.After(from) {
		from = t.since
	}
	from = from.Add(-t.t.lag)
	if unaware := time.Now().Add(-leavingMost); reason != inbox.ConnectionLost && t.t.lag > 0 && unaware.Before(from) {
		from = unaware
	}
	for _, m := range t.members {
		m.Intake.Lose(t.feed.sock, from, reason, err)
	}
}
