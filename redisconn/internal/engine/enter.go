package engine

import (
	"context"
	"runtime"
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/internal/sock"
	"github.com/joomcode/redispipe/internal/timing"
	"github.com/joomcode/redispipe/redis"
)

// Entry describes requests that enter together.
type Entry struct {
	Future redis.Future
	N      uint64 // number of the first request. MULTI has N-1; EXEC has one more than the last request
	// Asking puts ASKING before the requests. Transaction puts the requests between MULTI and EXEC.
	Asking, Transaction bool
	// Queuer, if not nil, gets the ticket of the last request before any of them is resolved.
	Queuer send.Queuer
	// on, if not nil, is the only session on which the requests may be written. The queue refuses
	// them if that session has ended.
	on *Session
	// divided, if not nil, holds the requests in parts (see parts.go). If there is no connection
	// yet, the requests enter as a whole.
	divided *divided
}

// enter admits requests, or returns an error. After it has admitted them, the sender must perform
// the returned duty on s. The queue keeps neither reqs nor e. Once the requests have entered, only
// their owner may read reqs: it may already use them again.
func (q *queue) enter(reqs []*send.Request, e *Entry) (s *Session, _ duty, refused *errorx.Error) {
	if q.admitted.Load() && q.admitted.Swap(false) {
		runtime.Gosched() // lets a caller that was admitted from the waiting list use its room first
	}
	l := loadOf(reqs)
	q.mu.Lock()
	defer q.mu.Unlock()
	_, internal := e.Future.(send.Internal) // the library's own request
	if refused = q.admit(reqs, l, e, internal); refused != nil {
		return nil, 0, refused
	}
	var tells duty
	if e.divided != nil && q.session != nil {
		tells = q.putFirst(e.divided)
	} else {
		tells = q.addOpen(reqs, e, internal)
	}
	s, rights := q.duty()
	return s, tells | rights, nil
}

// addOpen puts requests into the open batch. It returns mustListen if the sender must arrange a
// call of listen, otherwise 0.
func (q *queue) addOpen(reqs []*send.Request, e *Entry, internal bool) (tells duty) {
	if q.open == nil {
		q.open = q.newBatch()
	}
	m := q.open.mark()
	last := q.append(m, reqs, e, internal)
	q.pending += len(q.open.items) - m.items
	q.internal += q.open.internal - m.internal
	q.bytes += len(q.open.buf) - m.bytes
	if last.Tells && !q.due {
		tells = q.arrangeListen()
	}
	return tells
}

// admit returns nil if the requests may enter, and otherwise their error. If nothing is pending,
// more requests than MaxRequests may enter together, but never more bytes than MaxBytes.
func (q *queue) admit(reqs []*send.Request, l load, e *Entry, internal bool) *errorx.Error {
	switch {
	case q.opts.Ctx.Err() != nil, q.state == Closed, (q.draining != nil || q.withheld.Load()) && !internal:
		return sock.Refused(q.opts.Ctx)
	case q.state == Disconnected:
		return sock.ErrNotConnected.Wrap(q.why, "not connected")
	case l.bytes > q.maxBytes && !internal:
		return redis.ErrRequestTooLarge.New("%d bytes are more than Opts.MaxBytes allows: %d", l.bytes, q.maxBytes)
	case q.pending > 0 && !q.fits(l):
		return q.errFull(l).WithProperty(errs.EKCapacity, room{q, l})
	case e.on != nil && (e.on != q.session || q.handing):
		return sock.ErrNotConnected.New("the session has ended")
	case len(reqs) == 1 && !q.inTime(reqs[0].Deadline):
		q.admitWaiting() // this caller may have come from the waiting list: pass its room on
		return redis.ErrOverloaded.Wrap(context.DeadlineExceeded, "the deadline can't be met: requests ahead of this one: %d", q.pending).
			WithProperty(redis.EKDelay, q.overloaded())
	}
	return nil
}

// inTime reports whether a request that enters now is likely to be answered before its
// deadline.
func (q *queue) inTime(deadline time.Time) bool {
	if deadline.IsZero() || q.head == nil {
		return true
	}
	now := q.clock()
	return inTime(now-q.head.Taken, q.minTrip, timing.Until(deadline, now))
}

// append adds reqs to the open batch, which so far ends at m, and returns the ticket of the last
// one.
func (q *queue) append(m mark, reqs []*send.Request, e *Entry, internal bool) (last send.Ticket) {
	b := q.open
	b.bound = b.bound || e.on != nil
	if e.Asking {
		b.addEnvelope(asking, nil, 0, q.nextSeq(), q.stat(asking)).internal = true
	}
	if e.Transaction {
		b.addEnvelope(multi, e.Future, e.N-1, q.nextSeq(), q.stat(multi)).multi = true
	}
	for i, r := range reqs {
		last = send.Ticket{Queue: q, Seq: q.nextSeq(), Tells: r.Done != nil && q.tells(r, q.clock())}
		r.Ticket = last
		it := b.add(r, e.Future, e.N+uint64(i), last.Seq, q.stat(r))
		if last.Tells {
			it.done = r.Done
		}
		if internal {
			it.internal = true
			b.internal++
		}
		if q.opts.Script {
			b.blocks = timing.Plus(b.blocks, r.Blocks)
		}
	}
	if e.Transaction {
		it := b.addEnvelope(exec, e.Future, e.N+uint64(len(reqs)), q.nextSeq(), q.stat(exec))
		it.exec, it.plain, it.observed = true, e.Future != nil, send.Observes(e.Future)
		b.plain = b.plain || it.plain
		if len(reqs) == 0 { // without requests, EXEC counts as the user's request
			b.internal--
		}
	}
	if e.Asking || e.Transaction {
		b.pin(m)
	}
	if e.Queuer != nil {
		e.Queuer.Queued(last)
	}
	return last
}
