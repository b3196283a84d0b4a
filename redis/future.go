package redis

import (
	"sync"

	"github.com/joomcode/redispipe/internal/send"
)

// queued is the part of a future that holds the ticket of its last request.
type queued struct {
	queueing sync.Mutex // guards the fields below
	ticket   send.Ticket
	use      uint32 // which use of the future the ticket belongs to: see waiter.use
}

// Queued implements send.Queuer.
func (q *queued) Queued(t send.Ticket) { q.queuedBy(0, t) }

// queuedBy records the ticket of a request, for one use of a future that is reused.
func (q *queued) queuedBy(use uint32, t send.Ticket) {
	q.queueing.Lock()
	defer q.queueing.Unlock()
	q.ticket, q.use = t, use
}

// lastQueued returns the last ticket that was recorded for a use, or known if there is none.
func (q *queued) lastQueued(use uint32, known send.Ticket) send.Ticket {
	q.queueing.Lock()
	defer q.queueing.Unlock()
	if q.use != use || q.ticket.Queue == nil {
		return known
	}
	return q.ticket
}

// heeded returns the ticket of a blocking request that was sent alone, if its sender
// watches the context.
func (q *queued) heeded() send.Ticket {
	q.queueing.Lock()
	defer q.queueing.Unlock()
	if q.ticket.Heeded {
		return q.ticket
	}
	return send.Ticket{}
}

// lastPlace is the part of a future that records which server gave the last answer.
type lastPlace struct {
	where sync.Mutex // guards place
	place send.Server
}

// AnsweredBy implements send.Observer. When a connection is lost, a late reader may report
// the answer to a transaction's first request after EXEC has been resolved.
func (l *lastPlace) AnsweredBy(place send.Server) {
	l.where.Lock()
	defer l.where.Unlock()
	l.place = place
}

func (l *lastPlace) last() send.Server {
	l.where.Lock()
	defer l.where.Unlock()
	return l.place
}

// results are the results of several requests.
type results struct {
	all      []any
	resolved []bool
	left     int
}

func newResults(n int) results {
	return results{all: make([]any, n), resolved: make([]bool, n), left: n}
}

// set sets result n, unless it is already set. last is set if no result is missing any more.
func (r *results) set(res any, n uint64) (last bool) {
	if r.resolved[n] {
		return false
	}
	r.all[n], r.resolved[n] = res, true
	r.left--
	return r.left == 0
}
