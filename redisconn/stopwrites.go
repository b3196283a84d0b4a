package redisconn

import (
	"time"

	"github.com/joomcode/redispipe/redis"
)

// StopWrites is for package rediscluster: another server has taken this one's place.
// Nothing of the users' is written from here on, but for what a goroutine is just about
// to write, if the socket takes that at once. What is not written ends with
// [redis.ErrContextClosed], not sent, and what is written only in part is lost with the
// connection. Replies are read until Close. The channel is closed when nobody writes any
// more.
func (c *Connection) StopWrites() (stopped <-chan struct{}) {
	open, writes := c.queue.withhold()
	closed := c.withConn(errClosed())
	l := &leftovers{c: c}
	l.collect(open, closed, closed)
	c.queue.countLeft(l.notSent, 0)
	if len(l.items) > 0 {
		l.begin()
	}
	done := make(chan struct{})
	go func() { // ends with the last write
		defer close(done)
		if writes != nil {
			writes.endWrite()
		}
		c.pool.endWrites()
	}()
	return done
}

// tookBack reports whether writes are stopped and nothing is in flight: what a caller was
// to write has been taken back, so that no reply to it comes.
func (q *queue) tookBack() bool {
	if !q.withheld.Load() {
		return false
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.head == nil
}

// withhold lets nothing of the users' in any more, and takes out what nobody has begun to
// write. writes is the session that somebody has the right to write to.
func (q *queue) withhold() (open *batch, writes *session) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.withheld.Store(true)
	if q.writing {
		writes = q.session
	}
	if open, q.open = q.open, nil; open != nil {
		q.pending -= len(open.items) - open.withdrawn
		q.own -= open.own
		q.bytes -= len(open.buf)
	}
	q.admitWaitersLocked()
	return open, writes
}

// endWrite returns when nobody has the right to write. Who waits for the socket to take
// more gives up, which ends the session: see writeOnce.
func (s *session) endWrite() {
	if err := s.SetWriteDeadline(longAgo); err != nil {
		s.fail(redis.ErrIO.Wrap(err, "ending a write"))
	}
	s.c.queue.awaitRelease()
	_ = s.SetWriteDeadline(time.Time{})
}

// awaitRelease returns when nobody has the right to write.
func (q *queue) awaitRelease() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.awaitReleaseLocked()
}
