package inbox

import (
	"time"

	"github.com/joomcode/redispipe/internal/lifetime"
)

// Intake takes the messages of one source into an inbox. At any time it takes the messages of one
// session, or has a gap. The lock of its inbox guards all fields except Removed, so that no message is
// added between a change of the state and the gap that starts or ends with the change.
type Intake struct {
	in   *Inbox
	of   Source
	made time.Time // when the user requested the topic: earlier messages do not count as missing
	// Removed is closed by Remove, which ends the wait of a message for room.
	Removed chan struct{}

	state  state
	from   any       // in the state live: the session whose messages the intake takes
	since  time.Time // in the state lost: no message was lost before this time
	reason Reason    // in the state lost: the reason; None while the gap was not delivered to the consumer
	err    error
}

type state uint8

const (
	fresh   state = iota // no server has confirmed the topic yet: takes no messages, and has no gap
	live                 // takes the messages of a session
	lost                 // has an open gap
	removed              // takes no more messages
)

// NewIntake returns an intake that the user requested at the time made.
func (in *Inbox) NewIntake(of Source, made time.Time) *Intake {
	return &Intake{in: in, of: of, made: made, Removed: make(chan struct{})}
}

// Made returns the time when the user requested the intake.
func (t *Intake) Made() time.Time { return t.made }

// Outcome is the result of offering a message.
type Outcome uint8

// The outcomes.
const (
	Taken     Outcome = iota
	Dropped           // dropped for lack of room, or the intake does not take messages of this session
	Full              // Policy is Block: offer the message again when there is room
	Overflown         // Policy is EndWithError: the inbox has ended
)

// Offer adds a message of the session "from" to the inbox, if t takes the messages of that session and the inbox
// has room. msg counts as size bytes.
func (t *Intake) Offer(from, msg any, size int, now time.Time) Outcome {
	in := t.in
	in.mu.Lock()
	defer in.mu.Unlock()
	if t.state != live || t.from != from || in.ended {
		return Dropped
	}
	fits := in.fitLocked(t.of, size, now)
	if fits == Taken {
		in.queue.push(msg, size)
		lifetime.Wake(in.More)
	}
	return fits
}

// Restore makes t take the messages of the session "from", starting now. It ends the gap.
func (t *Intake) Restore(from any, now time.Time) {
	in := t.in
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.ended || t.state == removed || t.state == live {
		return
	}
	if t.state == lost {
		t.closeGapLocked(now)
	}
	t.state, t.from = live, from
	in.stateLocked(t.of, true, now, nil)
}

// Lose opens a gap if t takes the messages of the session "from". If the reason is None, the consumer
// gets the gap only when Lose is called again or the gap ends.
func (t *Intake) Lose(from any, since time.Time, reason Reason, err error) {
	in := t.in
	in.mu.Lock()
	defer in.mu.Unlock()
	switch {
	case in.ended:
		return
	case t.state == live && t.from == from:
		if since.Before(t.made) {
			since = t.made
		}
		t.state, t.from, t.since, t.reason = lost, nil, since, None
	case t.state != lost || t.reason != None:
		return
	}
	if reason == None {
		return
	}
	t.openGapLocked(reason, err)
	in.stateLocked(t.of, false, time.Now(), err)
}

// Miss opens a gap for a new intake. It begins at the given time: later messages are missing, because the topic
// was not yet subscribed on the node.
func (t *Intake) Miss(since time.Time, reason Reason) {
	t.in.mu.Lock()
	defer t.in.mu.Unlock()
	if t.in.ended || t.state != fresh {
		return
	}
	t.state, t.since = lost, since
	t.openGapLocked(reason, nil)
}

// Remove makes t take no more messages. err is the server's refusal; it is nil if the user has removed
// the topic or the topic has left the node.
func (t *Intake) Remove(now time.Time, err error) {
	in := t.in
	in.mu.Lock()
	defer in.mu.Unlock()
	was := t.state
	t.state, t.from = removed, nil
	if was != removed {
		close(t.Removed)
	}
	if was == lost && in.ended && t.reason != None {
		in.counts.Open.Add(-1)
	}
	if was == removed || in.ended {
		return
	}
	switch {
	case was == live && err != nil: // another node has refused the topic
		t.since, t.reason = now, None
		t.loseForGoodLocked(err)
	case was == lost && err != nil:
		t.loseForGoodLocked(err)
	case was == lost:
		t.closeGapLocked(now)
	}
	switch {
	case was == fresh:
	case err != nil:
		in.addLocked(State{Source: t.of, Time: now, Err: err})
	default:
		in.stateLocked(t.of, false, now, nil)
	}
}

// openGapLocked delivers a gap with its reason to the consumer.
func (t *Intake) openGapLocked(reason Reason, err error) {
	t.beginGapLocked(reason, err)
	t.in.addLocked(t.gap(time.Time{}))
}

func (t *Intake) closeGapLocked(now time.Time) {
	if t.reason == None { // no refusal has given a reason: the same node serves the topic again, in its new role
		t.beginGapLocked(Failover, nil)
	}
	t.in.counts.Open.Add(-1)
	t.in.addLocked(t.gap(now))
}

// loseForGoodLocked leaves the gap open, and delivers it to the consumer with err as the reason.
func (t *Intake) loseForGoodLocked(err error) {
	if t.reason == None {
		t.beginGapLocked(ConnectionLost, err)
	}
	t.err = err
	t.in.counts.Open.Add(-1) // this gap will never be closed
	t.in.addLocked(t.gap(time.Time{}))
}

// beginGapLocked records why messages are missing.
func (t *Intake) beginGapLocked(reason Reason, err error) {
	t.reason, t.err = reason, err
	t.in.counts.Gaps[reason].Add(1)
	t.in.counts.Open.Add(1)
}

// gap returns the gap of a lost intake; to is zero while it is open.
func (t *Intake) gap(to time.Time) *Gap {
	g := newGap(t.of, t.since, to, t.reason)
	g.Err = t.err
	return g
}
