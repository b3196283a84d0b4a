package engine

import (
	"errors"
	"os"
	"time"

	"github.com/joomcode/redispipe/internal/sock"
	"github.com/joomcode/redispipe/internal/timing"
)

// listenEvery is the interval at which listen is called while callers are deaf.
const listenEvery = time.Millisecond

// deafMost is how long a request is pending before its caller is told to listen to its context even
// though the context has not ended.
const deafMost = 4 * listenEvery

// listen tells callers to listen to their contexts if the contexts have ended, or if the requests
// have been pending for long. If again is set, call listen again after listenEvery. If reads is
// set, one of these callers has the right to read, so it must be interrupted: see
// [Session.listens].
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

// tell tells the callers of batch b to listen to their contexts. b was opened at the time opened. tell
// returns true if a caller could not be told because it may be reading.
func (l *listening) tell(b *batch, opened time.Duration) (reads bool) {
	all := opened <= l.called-deafMost
	i := max(b.find(l.told), int(b.claimed.Load())-1) // begin with the last claimed request: its reply may not have arrived whole
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

// clock returns the time on timing.Clock. While listen is called regularly, clock may be late by
// one interval, because reading the time for each request takes longer.
func (q *queue) clock() time.Duration {
	if !q.due {
		q.called = timing.Clock()
	}
	return max(q.opened, q.called)
}

// arrangeListen returns the duty to arrange a call of listen. Call it only if none is arranged.
func (l *listening) arrangeListen() duty {
	l.due, l.called = true, timing.Clock()
	return mustListen
}

// waitDeaf calls wait without watching a context: that takes as long as a small request, and most
// replies come soon. ended is set if the caller is told to listen before wait has returned.
func (s *Session) waitDeaf(wait func() error) (ended bool, err error) {
	n := s.waits.Add(1)
	if ended = s.listens.Load(); !ended {
		err = wait()
	}
	if !s.waits.CompareAndSwap(n, n+1) && s.wasInterrupted(err) {
		return true, nil
	}
	return ended, err
}

// interruptDeaf interrupts the deaf caller that waits for a reply, if there is one.
func (s *Session) interruptDeaf() {
	if n := s.waits.Load(); n%2 != 0 && s.waits.CompareAndSwap(n, n+1) {
		s.interrupt()
	}
}

// interrupt ends the wait of the goroutine that reads.
func (s *Session) interrupt() {
	_ = s.SetReadDeadline(sock.LongAgo)
	s.interrupted <- struct{}{}
}

// wasInterrupted undoes interrupt, so that the socket can wait again. It reports whether a wait
// that has returned err was interrupted.
func (s *Session) wasInterrupted(err error) bool {
	<-s.interrupted
	_ = s.SetReadDeadline(time.Time{})
	return errors.Is(err, os.ErrDeadlineExceeded)
}
