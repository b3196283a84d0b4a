package inbox

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/joomcode/redispipe/internal/lifetime"
)

// Inbox holds the events of a subscription until the consumer takes them.
type Inbox struct {
	opts   Opts
	counts *Counts
	// More gets a value when an event has arrived or the inbox has ended. It has room for one.
	More chan struct{}
	// Room gets a value when the consumer has taken messages or the inbox has ended. It has room for
	// one.
	Room chan struct{}

	// Discarded is closed when the consumer wants no more events.
	Discarded chan struct{}

	// Consumed is set while a goroutine iterates over the events. That goroutine is the consumer.
	Consumed atomic.Bool

	mu    sync.Mutex // guards the fields below, and the intakes
	queue queue
	ended bool
	err   error // why the inbox has ended; nil after Discard
	// batchCount and batchBytes are the number and the total size of the messages that were moved to
	// batch. They count towards the bounds until batch is used up.
	batchCount, batchBytes int

	// batch holds the events that Next will return before it locks the inbox again. It is the unread
	// end of space. Only the consumer uses batch and space.
	batch, space []any
}

// Opts are the options of an Inbox.
type Opts struct {
	MaxMessages, MaxBytes int
	Policy                Policy
	Status                bool // deliver a State whenever a topic is subscribed or unsubscribed
	// MessageOf returns the message in an event. ok is false if the event is no message. The user of the
	// inbox defines the type of messages.
	MessageOf func(ev any) (m Message, ok bool)
}

// Counts are counters that several inboxes share.
type Counts struct {
	Gaps    [Failover + 1]atomic.Uint64 // gaps that have begun, by Reason
	Open    atomic.Int64
	Dropped atomic.Uint64 // messages
}

// The consumer takes at most batchMost messages at a time, and about 1/batchShare of the messages or
// bytes that the inbox may hold.
const (
	batchMost  = 64
	batchShare = 4
)

// New returns an inbox.
func New(opts Opts, counts *Counts) *Inbox {
	return &Inbox{
		opts: opts, counts: counts, More: make(chan struct{}, 1), Room: make(chan struct{}, 1), Discarded: make(chan struct{}),
		queue: queue{mostMessages: opts.MaxMessages, mostBytes: opts.MaxBytes, messageOf: opts.MessageOf},
	}
}

// addLocked adds an event other than a message: a *Gap or a State.
func (in *Inbox) addLocked(ev any) {
	in.queue.tail.add(ev)
	lifetime.Wake(in.More)
}

// stateLocked adds a State, if Opts.Status is set.
func (in *Inbox) stateLocked(of Source, on bool, now time.Time, err error) {
	if in.opts.Status {
		in.addLocked(State{Source: of, On: on, Time: now, Err: err})
	}
}

// Next returns the next event: a message from Offer, a *Gap or a State. It returns nil if there is no
// event at present; ended is set if there will be none. Only the consumer may call it.
func (in *Inbox) Next() (ev any, ended bool) {
	if len(in.batch) == 0 {
		if ended := in.refill(); len(in.batch) == 0 {
			return nil, ended
		}
	}
	ev = in.batch[0]
	in.batch[0] = nil
	in.batch = in.batch[1:]
	return ev, false
}

// Untake gives the event that Next returned last back to the inbox, so that Next returns it again. Only
// the consumer may call it.
func (in *Inbox) Untake(ev any) {
	in.batch = in.space[len(in.space)-len(in.batch)-1:]
	in.batch[0] = ev
}

// refill frees the room that the last batch took, and fills the next batch. It reports whether the inbox
// has ended.
func (in *Inbox) refill() (ended bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.queue.release(in.batchCount, in.batchBytes)
	if in.batchCount > 0 {
		lifetime.Wake(in.Room)
	}
	most := min(batchMost, max(in.opts.MaxMessages/batchShare, 1))
	in.batch, in.batchCount, in.batchBytes = in.queue.take(in.space[:0], most, in.opts.MaxBytes/batchShare)
	in.space = in.batch
	return in.ended
}

// End ends the inbox: nothing more is added. The consumer gets the remaining events, and then err.
func (in *Inbox) End(err error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.endLocked(err)
}

func (in *Inbox) endLocked(err error) {
	if !in.ended {
		in.ended, in.err = true, err
	}
	lifetime.Wake(in.More)
	lifetime.Wake(in.Room)
}

// Discard ends the inbox for a consumer that wants no more events.
func (in *Inbox) Discard() {
	in.mu.Lock()
	defer in.mu.Unlock()
	select {
	case <-in.Discarded:
	default:
		close(in.Discarded)
	}
	in.endLocked(nil)
	in.err = nil
	in.queue = queue{}
}

// Err returns the error that ended the inbox. It returns nil before that, and after Discard.
func (in *Inbox) Err() error {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.err
}
