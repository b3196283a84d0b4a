package engine

import (
	"time"

	"github.com/joomcode/redispipe/internal/sock"
)

// drainedEvery is how often HandOver looks whether everything in flight was answered.
const drainedEvery = 200 * time.Microsecond

// HandOver continues on another socket while s lives: from then on nothing is written to the socket of s, its
// requests in flight are answered, and all later ones are written to the new socket, so requests stay in order.
// Then s ends, and next is the session. If s fails before that, or writes are stopped, next is nil, and the socket
// is still the caller's. HandOver needs Opts.Pushes: then somebody always has the right to read, so nobody writes
// without asking for the right to write.
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

// Ended is closed when the session has failed, or was handed over.
func (s *Session) Ended() <-chan struct{} { return s.failed }

// reserve takes the right to write when its holder has written what it has taken. It returns false if s has
// ended by then.
func (q *queue) reserve(s *Session) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.writing {
		q.reserved = true
		q.awaitReleasedLocked()
		q.reserved = false
	}
	q.writing = true
	if q.session == s {
		return true
	}
	q.releaseLocked()
	return false
}

// answeredAll reports whether nothing is in flight.
func (q *queue) answeredAll() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.head == nil
}

// unreserve passes the reserved right to write on. If it returns true, the caller must arrange a call of listen: a
// caller that was reading may have missed that it must listen.
func (q *queue) unreserve() (listens bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.pass(nil, q.open != nil && q.state == Connected)
	q.told = 0
	q.due = q.due || q.pending > 0
	return q.due
}
