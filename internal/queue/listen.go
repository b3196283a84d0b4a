package queue

import (
	"time"

	"github.com/joomcode/redispipe/internal/timing"
	"github.com/joomcode/redispipe/internal/wire"
)

// ListenEvery is the interval at which Listen is called while callers wait deaf.
const ListenEvery = time.Millisecond

// A caller is told when its request has been pending for twice as long as requests have been
// lately, within these bounds.
const (
	deafLeast = ListenEvery / 2
	deafMost  = ListenEvery * 5 / 4
)

// deafFor is for how long a request is pending before its caller is told.
func (q *Queue) deafFor() time.Duration { return min(max(deafLeast, 2*q.lately), deafMost) }

// clock returns the time. While Listen is called regularly, it may be late by one interval,
// since reading the clock for each request would take longer.
func (q *Queue) clock() time.Duration {
	if !q.due {
		q.called = timing.Clock()
	}
	return max(q.opened, q.called)
}

// tells decides whether the caller of r, which enters, waits deaf until it is told to listen. A
// caller listens at once if its deadline may pass before it would be told (the clock may be
// late), or if requests take so long that most callers would be told.
func (q *Queue) tells(r *wire.Request) bool {
	return r.Deaf && q.lately < deafMost && (r.Deadline.IsZero() || timing.Until(r.Deadline, q.clock()) >= 4*ListenEvery)
}

// tellLater is called when the caller of an entering request is deaf. It reports whether the
// sender of the request has to arrange the call of Listen.
func (q *Queue) tellLater() (first bool) {
	if q.due {
		return false
	}
	q.due, q.called = true, timing.Clock()
	return true
}

// Listen tells callers to listen if their requests have been pending for long. If again is
// set, Listen has to be called again after ListenEvery. If reads is set, one of the callers
// has the right to read: see [Session.Listens].
func (q *Queue) Listen() (reads, again bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.called = timing.Clock()
	if q.asking { // some of them are not to be seen
		return false, true
	}
	before := q.called - q.deafFor()
	for b := q.head; b != nil && b.Opened <= before; b = b.Next {
		reads = q.tell(b) || reads
	}
	if q.open != nil && q.opened <= before {
		reads = q.tell(q.open) || reads
	}
	if reads = reads && q.session != nil && q.reading == readCaller; reads {
		q.session.Listens.Store(true)
	}
	q.due = q.told < q.seq && q.pending > 0
	return reads, q.due
}

// listening keeps track of callers that have not been told to listen to their contexts: see
// wire.Caller. All of it is guarded by Queue.mu.
type listening struct {
	due    bool          // somebody calls Listen soon
	told   uint64        // the callers of requests before it have been told
	called time.Duration // when Listen was called last, or the clock was read
}

// tell tells the callers of b that have not been told. It reports whether one of them may have
// the right to read, and so could not be told.
func (l *listening) tell(b *Batch) (reads bool) {
	i := max(b.find(l.told), int(b.claimed.Load())-1) // the reading goroutine may still wait for the rest of a claimed reply
	for ; i < len(b.Items); i++ {
		if caller := b.Items[i].Caller; caller != nil && !caller.Listen() {
			reads = true
		}
	}
	l.told = max(l.told, b.Items[len(b.Items)-1].Seq+1)
	return reads
}
