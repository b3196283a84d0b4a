package redispubsub

import (
	"sync"
	"sync/atomic"
	"time"
)

// buffer holds the events of a subscription until the consumer takes them, within its
// bounds, and decides which of its members is to take messages.
//
// The events are kept in two parts: queue holds messages and, in their places among
// them, all else up to the last message; tail is the run behind it, which still
// changes. front is the run before the first message of queue.
type buffer struct {
	opts   SubscriptionOpts
	counts *counters
	// more has room for one: something has come, or the buffer has ended.
	more chan struct{}
	// room has room for one: the consumer has made some, or the buffer has ended.
	room chan struct{}

	discarded atomic.Bool // the consumer wants no more events

	mu          sync.Mutex // guards the rest
	front, tail gapRun
	queue       []Event
	head        int // of queue; what is before was taken
	held, bytes int // messages, and their bytes, that count for the bounds
	ended       bool
	err         error // of a buffer that has ended: nil after Close
	consumed    bool  // somebody iterates
	// batchHeld and batchBytes are those of batch, which count until it is used up.
	batchHeld, batchBytes int

	// batch is what the consumer has taken and not seen yet, in space. Both are the
	// consumer's alone.
	batch, space []Event
}

// member is a topic of a subscription, on one node. What follows calls is guarded by its
// buffer.
type member struct {
	sub   *Subscription
	key   topicKey
	made  time.Time // when the user asked for the topic
	calls []*call   // that wait for the first confirmation; guarded by Subscriber.mu

	state   memberState
	session *session  // whose messages it takes while it is live
	since   time.Time // nothing was lost before, of a lost member
	reason  Reason    // 0: not known yet, and the gap is not told of
	err     error
}

type memberState uint8

const (
	memberNew  memberState = iota // not confirmed yet: takes nothing, misses nothing
	memberLive                    // takes the messages of its session
	memberLost                    // has an open gap
	memberGone                    // takes nothing any more
)

// messageOverhead is what a message counts for the bound in bytes beside its payload:
// the size of a Message and of its place in the queue.
const messageOverhead = 128

// batchMost bounds how much the consumer takes at a time: of the bounds, the fourth.
const (
	batchMost  = 64
	batchShare = 4
)

func newBuffer(opts SubscriptionOpts, counts *counters) *buffer {
	return &buffer{opts: opts, counts: counts, more: make(chan struct{}, 1), room: make(chan struct{}, 1)}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// outcome is what became of a message.
type outcome uint8

const (
	taken     outcome = iota // or dropped, or not for this member
	full                     // Policy is Block: to be offered again when there is room
	overflown                // Policy is EndWithError: the buffer has ended
)

// offer adds a message, which counts size bytes, if m takes the messages of s.
func (b *buffer) offer(m *member, s *session, msg Event, size int, now time.Time) outcome {
	size += messageOverhead
	b.mu.Lock()
	defer b.mu.Unlock()
	if m.state != memberLive || m.session != s || b.ended {
		return taken
	}
	if !b.fitsLocked(size) {
		switch b.opts.Policy {
		case Block:
			return full
		case DropOldest:
			b.evictLocked(size)
		default:
			b.dropLocked(&b.tail, m.key.spot(), now, now)
			if b.opts.Policy == EndWithError {
				b.endLocked(ErrBufferFull.New("the consumer is slower than the publishers"))
				return overflown
			}
			return taken
		}
	}
	b.pushLocked(msg)
	b.held++
	b.bytes += size
	signal(b.more)
	return taken
}

func (b *buffer) fitsLocked(size int) bool {
	return b.held == 0 || b.held < b.opts.MaxMessages && b.bytes+size <= b.opts.MaxBytes
}

// pushLocked adds a message behind the tail.
func (b *buffer) pushLocked(msg Event) {
	if b.head > 0 && len(b.queue)+len(b.tail) >= cap(b.queue) && b.head >= len(b.queue)/2 {
		n := copy(b.queue, b.queue[b.head:])
		clear(b.queue[n:])
		b.queue, b.head = b.queue[:n], 0
	}
	b.queue = append(b.queue, b.tail...)
	clear(b.tail)
	b.tail = b.tail[:0]
	b.queue = append(b.queue, msg)
}

func (b *buffer) popLocked() Event {
	ev := b.queue[b.head]
	b.queue[b.head] = nil
	if b.head++; b.head == len(b.queue) {
		b.queue, b.head = b.queue[:0], 0
	}
	return ev
}

// evictLocked drops the oldest messages until size bytes fit.
func (b *buffer) evictLocked(size int) {
	for b.head < len(b.queue) && !b.fitsLocked(size) {
		ev := b.popLocked()
		msg, ok := ev.(Message)
		if !ok {
			b.front = b.front.add(ev)
			continue
		}
		b.held--
		b.bytes -= msg.size() + messageOverhead
		b.dropLocked(&b.front, spot{msg.topic(), msg.Node}, msg.Time, msg.Time)
	}
}

func (b *buffer) dropLocked(to *gapRun, what spot, from, until time.Time) {
	b.counts.dropped.Add(1)
	*to = to.addGap(&gap{of: map[spot]struct{}{what: {}}, from: from, to: until, reason: BufferFull, dropped: 1})
	signal(b.more)
}

// size is what a message counts for the bound in bytes.
func (m Message) size() int { return len(m.Payload) + len(m.Channel) }

func (m Message) topic() Topic {
	switch {
	case m.Pattern != "":
		return Pattern(m.Pattern)
	case m.Sharded:
		return Sharded(m.Channel)
	}
	return Channel(m.Channel)
}

// restore has m take the messages of s from now on.
func (b *buffer) restore(m *member, s *session, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended || m.state == memberGone || m.state == memberLive {
		return
	}
	if m.state == memberLost {
		b.closeGapLocked(m, now)
	}
	m.state, m.session = memberLive, s
	if b.opts.Status {
		b.tail = b.tail.addState(Subscribed{Topic: m.key.Topic, Time: now})
		signal(b.more)
	}
}

func (b *buffer) closeGapLocked(m *member, now time.Time) {
	if m.reason == 0 { // the node serves the topic again, now in the other role
		b.begunLocked(m, Failover, nil)
	}
	b.counts.open.Add(-1)
	closed := m.gap()
	closed.to = now
	b.tail = b.tail.closeGap(closed)
	signal(b.more)
}

// lose opens a gap of m, if it takes the messages of s. With the reason 0 the consumer
// hears of the gap when lose is called again, or when the gap ends.
func (b *buffer) lose(m *member, s *session, from time.Time, reason Reason, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.ended:
		return
	case m.state == memberLive && m.session == s:
		if from.Before(m.made) {
			from = m.made // nobody was to get anything before
		}
		m.state, m.session, m.since, m.reason = memberLost, nil, from, 0
	case m.state != memberLost || m.reason != 0:
		return
	}
	if reason == 0 {
		return
	}
	b.begunLocked(m, reason, err)
	b.tail = b.tail.addGap(m.gap())
	if b.opts.Status {
		b.tail = b.tail.addState(Unsubscribed{Topic: m.key.Topic, Time: time.Now(), Err: err})
	}
	signal(b.more)
}

// miss opens a gap of a member that is new, on a node that the subscription had to be on
// since some time ago.
func (b *buffer) miss(m *member, since time.Time, reason Reason) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended || m.state != memberNew {
		return
	}
	m.state, m.since = memberLost, since
	b.begunLocked(m, reason, nil)
	b.tail = b.tail.addGap(m.gap())
	signal(b.more)
}

// begunLocked notes why a member is lost.
func (b *buffer) begunLocked(m *member, reason Reason, err error) {
	m.reason, m.err = reason, err
	b.counts.gaps[reason].Add(1)
	b.counts.open.Add(1)
}

// gap is the open gap of a lost member.
func (m *member) gap() *gap {
	return &gap{of: map[spot]struct{}{m.key.spot(): {}}, from: m.since, reason: m.reason, err: m.err}
}

// removeMember has m take nothing any more. err is why, if the user did not want it.
func (b *buffer) removeMember(m *member, now time.Time, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	was := m.state
	m.state, m.session = memberGone, nil
	if was == memberLost && b.ended && m.reason != 0 {
		b.counts.open.Add(-1)
	}
	if was == memberGone || b.ended {
		return
	}
	if was == memberLost {
		b.closeGapLocked(m, now)
	}
	if was != memberNew && (b.opts.Status || err != nil) {
		b.tail = b.tail.addState(Unsubscribed{Topic: m.key.Topic, Time: now, Err: err})
		signal(b.more)
	}
}

// end lets nothing more in. The consumer gets what is there, and then err.
func (b *buffer) end(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.endLocked(err)
}

func (b *buffer) endLocked(err error) {
	if !b.ended {
		b.ended, b.err = true, err
	}
	signal(b.more)
	signal(b.room)
}

// discard is end for a consumer that wants no more events.
func (b *buffer) discard() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.discarded.Store(true)
	b.endLocked(nil)
	b.err = nil
	b.front, b.tail, b.queue, b.head = nil, nil, nil, 0
}
