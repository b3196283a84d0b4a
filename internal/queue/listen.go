package queue

import (
	"time"

	"github.com/joomcode/redispipe/internal/timing"
	"github.com/joomcode/redispipe/internal/wire"
)

// Callers are told to listen once in listenLeast, or in twice the time that requests take of
// late if that is longer, up to listenMost: those whose requests have been pending for half of
// that time.
const (
	listenLeast = time.Millisecond
	listenMost  = 5 * time.Millisecond
)

// every is how often callers are told now.
func (q *Queue) every() time.Duration {
	return min(max(listenLeast, 2*q.lately), listenMost)
}

// clock returns the time. While Listen is called again and again it is behind by one turn of
// that at most: to read it for each request would take longer.
func (q *Queue) clock() time.Duration {
	if !q.due {
		q.called = timing.Clock()
	}
	return max(q.opened, q.called)
}

// tells decides whether the caller of r, which enters, will be told to listen. One listens at
// once if its deadline may pass before it would be told, the clock being behind by one turn, or
// if the network takes so long that most callers would be told.
func (q *Queue) tells(r *wire.Request) bool {
	return r.Deaf && q.usual < listenLeast/2 && (r.Deadline.IsZero() || timing.Until(r.Deadline, q.clock()) >= 4*q.every())
}

// tellLater is called when the caller of a request that enters will be told. It reports whether
// Listen has to be called for that, by who sends the request.
func (q *Queue) tellLater() (first bool) {
	if q.due {
		return false
	}
	q.due, q.called = true, timing.Clock()
	return true
}

// ListenAfter is when Listen is to be called by who has that duty.
const ListenAfter = listenLeast

// Listen tells callers to listen whose requests have been pending for long.
// again is when it has to be called again, if it is not 0. If reads is set, one of them has
// the right to read: see [Session.Listens].
func (q *Queue) Listen() (reads bool, again time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.called = timing.Clock()
	if q.asking { // some of them are not to be seen
		return false, q.every()
	}
	before := q.called - q.every()/2
	for b := q.head; b != nil && b.Opened <= before; b = b.Next {
		reads = q.tell(b) || reads
	}
	if q.open != nil && q.opened <= before {
		reads = q.tell(q.open) || reads
	}
	if reads = reads && q.session != nil && q.reading == readCaller; reads {
		q.session.Listens.Store(true)
	}
	if q.due = q.told < q.seq && q.pending > 0; q.due {
		again = q.every()
	}
	return reads, again
}
