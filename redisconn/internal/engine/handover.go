package engine

import (
	"context"
	"time"

	"github.com/joomcode/redispipe/internal/sock"
)

// HandOver replaces session s by a session next on another socket. It stops writes to the socket of s and
// waits until the requests in flight are answered. Then s ends, and all later requests are written
// to the new socket, so requests stay in order. So do their results: next reads no replies until the futures
// of s have returned.
//
// If s fails or ctx is done while HandOver waits, if writes are stopped, or if the server has closed the new
// socket, HandOver returns nil. Then the caller still owns the socket, and s, unless it has failed, continues.
// HandOver needs Opts.Pushes, so that some goroutine always has the right to read. Then nobody writes without
// asking for the right to write.
func (p *Pipe) HandOver(ctx context.Context, s *Session, socket *sock.Socket) (next *Session) {
	if !p.queue.reserve(s) {
		return nil
	}
	to := newSession(p, socket)
	if p.drain(ctx, s) && !to.isClosed() {
		s.failure.Do(func() { // nobody else fails s now
			next = to
			s.handed.Store(true)
			s.err = sock.ErrNotConnected.New("the session was handed over")
			p.current.Store(next)
			p.queue.Change(Connected, next, nil)
			close(s.failed)
			s.closeRead()
		})
	}
	if next != nil {
		close(s.quit)
		go next.writeLoop()
		go next.readAfter(s)
	}
	if p.queue.unreserve() {
		p.listening.Reset(listenEvery)
	}
	return next
}

// leftMost bounds how long the socket of a session that was handed over stays open.
const leftMost = 10 * time.Second

// closeRead ends the reading of a session that was handed over. The bytes that have arrived are still read,
// because the server may have announced yet another address. The reader then closes the socket.
func (s *Session) closeRead() {
	half, ok := s.Bare().(interface{ CloseRead() error })
	if !ok || s.checker == nil || half.CloseRead() != nil {
		_ = s.Close()
		return
	}
	time.AfterFunc(leftMost, func() { _ = s.Close() }) // a user's future may block the reader
}

// drain waits until the requests in flight are answered. It returns false if s fails, ctx is done or writes
// are stopped before that.
func (p *Pipe) drain(ctx context.Context, s *Session) bool {
	for {
		answered := p.queue.whenAnswered()
		if answered == nil {
			return ctx.Err() == nil
		}
		select {
		case <-answered:
		case <-s.failed:
			return false
		case <-ctx.Done():
			return false
		}
		if p.Withheld() {
			return false
		}
	}
}

// isClosed reports whether the server has closed a socket that nobody reads. To find out, it reads what has
// arrived, which may be pushes, into the decoder's buffer.
func (s *Session) isClosed() bool {
	for s.checker != nil && !s.Dec.Full() {
		err := s.checker.Check()
		if err == nil {
			return false
		}
		if err == sock.ErrUnsolicited {
			err = s.readRecords(recordsWait)
		}
		if err != nil && err != sock.ErrUnsolicited {
			return true
		}
	}
	return false
}

// readAfter is readLoop for a session that has replaced the session before. It waits until the loop of that session
// has ended, which may still be resolving its last future.
func (s *Session) readAfter(before *Session) {
	select {
	case <-before.loopEnded:
	case <-s.failed:
	}
	s.readLoop()
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
