package engine

import (
	"time"

	"github.com/joomcode/redispipe/internal/sock"
)

// drainedEvery is how often HandOver checks whether all requests in flight are answered.
const drainedEvery = 200 * time.Microsecond

// HandOver replaces session s by a session next on another socket. It stops writes to the socket of s and
// waits until the requests in flight are answered. Then s ends, and all later requests are written
// to the new socket, so requests stay in order.
//
// If s fails while HandOver waits, or if writes are stopped, HandOver returns nil, and the caller still
// owns the socket. HandOver needs Opts.Pushes, so that some goroutine always has the right to read. Then
// nobody writes without asking for the right to write.
func (p *Pipe) HandOver(s *Session, socket *sock.Socket) (next *Session) {
	if !p.queue.reserve(s) {
		return nil
	}
	for !p.queue.answeredAll() {
		select {
		case <-s.failed:
		case <-time.After(drainedEvery):
			if !p.Withheld() {
				continue
			}
		}
		p.queue.unreserve()
		return nil
	}
	s.failure.Do(func() { // nobody else fails s now
		next = newSession(p, socket)
		s.err = sock.ErrNotConnected.New("the session was handed over")
		p.current.Store(next)
		p.queue.Change(Connected, next, nil)
		close(s.failed)
		_ = s.Close()
	})
	if next != nil {
		close(s.quit)
		go next.writeLoop()
		go next.readLoop()
	}
	if p.queue.unreserve() {
		p.listening.Reset(listenEvery)
	}
	return next
}

// Ended returns a channel that is closed when the session has failed or was handed over.
func (s *Session) Ended() <-chan struct{} { return s.failed }

// reserve takes the right to write as soon as the goroutine that has the right has written its batch. Requests
// that may only be written on s (Entry.on) are written before that, and refused from then on. reserve returns
// false if s has ended in the meantime.
func (q *queue) reserve(s *Session) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.handing = true
	if q.writing {
		q.awaitReservedLocked()
	}
	for q.writing = true; q.session == s && q.open != nil && q.open.bound; {
		q.pass(nil, true)
		q.awaitReservedLocked()
	}
	if q.session == s {
		return true
	}
	q.handing = false
	q.releaseLocked()
	return false
}

// awaitReservedLocked waits until the right to write is released, and takes it. It releases the lock while it
// waits.
func (q *queue) awaitReservedLocked() {
	q.reserved = true
	q.awaitReleasedLocked()
	q.reserved, q.writing = false, true
}

// answeredAll reports whether no request is in flight.
func (q *queue) answeredAll() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.head == nil
}

// unreserve passes on the right to write that reserve took. If it returns true, start the timer that calls
// listen, because a caller that was reading may not have been told to listen to its context.
func (q *queue) unreserve() (listens bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.handing = false
	q.pass(nil, q.open != nil && q.state == Connected)
	q.told = 0
	q.due = q.due || q.pending > 0
	return q.due
}
