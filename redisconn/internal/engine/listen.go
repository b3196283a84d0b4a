package engine

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/internal/sock"
	"github.com/joomcode/redispipe/internal/timing"
	"github.com/joomcode/redispipe/redis"
)

// listen tells callers to listen if their contexts have ended, or their requests have been pending for
// long. If again is set, call it again after listenEvery. If reads is set, one of the callers has the
// right to read, so it must be interrupted: see [Session.listens].
func (q *queue) listen() (reads, again bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.called = timing.Clock()
	if q.asksFutures { // one batch is neither open nor in flight, so its callers can't be found
		return false, true
	}
	for b := q.head; b != nil; b = b.next {
		reads = q.tell(b, b.Opened) || reads
	}
	if q.open != nil {
		reads = q.tell(q.open, q.opened) || reads
	}
	if reads = reads && q.session != nil && q.reading == readCaller; reads {
		q.session.listens.Store(true)
	}
	q.due = q.told < q.seq && q.pending > 0
	return reads, q.due
}

// tell is listen for the callers of one batch. It reports whether it could not tell one of them,
// because that caller may be reading. opened is when b was opened.
func (l *listening) tell(b *batch, opened time.Duration) (reads bool) {
	all := opened <= l.called-deafMost
	i := max(b.find(l.told), int(b.claimed.Load())-1) // the reading goroutine may still wait for the rest of a claimed reply
	for ; i < len(b.items); i++ {
		it := &b.items[i]
		if it.done == nil || !all && !ended(it.done) {
			continue
		}
		if it.caller.Listen() {
			it.done = nil
		} else {
			reads = true
		}
	}
	if all {
		l.told = max(l.told, b.lastSeq()+1)
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

// tells decides whether the caller of r, which enters now, waits deaf until it is told to listen. A
// caller listens at once if its deadline may pass before it would be told, or if requests take so long
// that most callers would be told. now is from clock, and may be late.
func (q *queue) tells(r *send.Request, now time.Duration) bool {
	return q.avgLatency < deafMost && (r.Deadline.IsZero() || timing.Until(r.Deadline, now) >= deafMost+2*listenEvery)
}

// clock returns the time. While listen is called regularly, it may be late by one interval,
// since reading the clock for each request would take longer.
func (q *queue) clock() time.Duration {
	if !q.due {
		q.called = timing.Clock()
	}
	return max(q.opened, q.called)
}

// arrangeListen returns the duty to arrange a call of listen, when none is due.
func (l *listening) arrangeListen() duty {
	l.due, l.called = true, timing.Clock()
	return mustListen
}

// interruptibly calls wait, which reads from the socket. It interrupts wait when ctx is done or, if the
// caller is deaf, when the caller is told to listen; then ended is set, and wait may be called again.
// Any other error of wait ends the session; then failed is set.
func (s *Session) interruptibly(ctx context.Context, wait func() error) (ended, failed bool) {
	var err error
	switch {
	case ctx.Done() == nil:
		err = wait()
	case s.reader.deaf:
		var waited bool
		if waited, err = s.waitDeaf(wait); !waited {
			return true, false
		}
	default:
		stop := context.AfterFunc(ctx, s.interrupt)
		if err = wait(); !stop() && s.wasInterrupted(err) {
			return true, false
		}
	}
	if err != nil {
		s.fail(redis.ErrIO.Wrap(err, "reading"))
	}
	return false, err != nil
}

// waitDeaf calls wait. It returns false if the caller is told to listen before wait has returned.
// Most replies come earlier, and watching a context takes as long as a small request.
func (s *Session) waitDeaf(wait func() error) (waited bool, err error) {
	n := s.waits.Add(1)
	if !s.listens.Load() {
		waited, err = true, wait()
	}
	if !s.waits.CompareAndSwap(n, n+1) && s.wasInterrupted(err) {
		return false, nil
	}
	return waited, err
}

// interruptDeaf ends the wait of a caller that is deaf, if there is one.
func (s *Session) interruptDeaf() {
	if n := s.waits.Load(); n%2 != 0 && s.waits.CompareAndSwap(n, n+1) {
		s.interrupt()
	}
}

// interrupt ends a wait.
func (s *Session) interrupt() {
	_ = s.SetReadDeadline(sock.LongAgo)
	s.interrupted <- struct{}{}
}

// wasInterrupted makes the socket wait again after interrupt was called, and reports whether
// that has ended a wait with err.
func (s *Session) wasInterrupted(err error) bool {
	<-s.interrupted
	_ = s.SetReadDeadline(time.Time{})
	return errors.Is(err, os.ErrDeadlineExceeded)
}
