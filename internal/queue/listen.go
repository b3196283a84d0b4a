package queue

import (
	"time"

	"github.com/joomcode/redispipe/internal/timing"
	"github.com/joomcode/redispipe/internal/wire"
)

// ListenEvery is the interval at which Listen is called while callers wait deaf.
const ListenEvery = time.Millisecond

// deafMost is for how long a request is pending before its caller is told, whether or not its
// context has ended.
const deafMost = 4 * ListenEvery

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
	return r.Done != nil && q.lately < deafMost && (r.Deadline.IsZero() || timing.Until(r.Deadline, q.clock()) >= deafMost+2*ListenEvery)
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

// Listen tells callers to listen if their contexts have ended, or their requests have been
// pending for long. If again is set, Listen has to be called again after ListenEvery. If reads
// is set, one of the callers has the right to read: see [Session.Listens].
func (q *Queue) Listen() (reads, again bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.called = timing.Clock()
	if q.asking { // some of them are not to be seen
		return false, true
	}
	for b := q.head; b != nil; b = b.Next {
		reads = q.tell(b, b.Opened) || reads
	}
	if q.open != nil {
		reads = q.tell(q.open, q.opened) || reads
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

// tell tells those callers of b, which was opened then, that are to be told now. It reports
// whether one of them may have the right to read, and so could not be told.
func (l *listening) tell(b *Batch, opened time.Duration) (reads bool) {
	all := opened <= l.called-deafMost
	i := max(b.find(l.told), int(b.claimed.Load())-1) // the reading goroutine may still wait for the rest of a claimed reply
	for ; i < len(b.Items); i++ {
		it := &b.Items[i]
		if it.done == nil || !all && !ended(it.done) {
			continue
		}
		if it.Caller.Listen() {
			it.done = nil
		} else {
			reads = true
		}
	}
	if all {
		l.told = max(l.told, b.Items[len(b.Items)-1].Seq+1)
	}
	return reads
}

// ended reports whether a context has ended.
func ended(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}
