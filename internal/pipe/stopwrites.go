package pipe

import (
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/redis"
)

// StopWrites has nothing of the users' written from here on, but for what a goroutine is
// just about to write, if the socket takes that at once. What is not written ends with
// closed, and what is written only in part is lost with the session. stop returns when
// nobody writes any more.
func (p *Pipe) StopWrites(closed *errorx.Error) (stop func()) {
	left, writes := p.queue.Withhold()
	l := &leftovers{p: p}
	l.collect(left, closed, closed)
	p.queue.CountLeft(l.notSent, 0)
	if len(l.items) > 0 {
		l.begin()
	}
	return func() {
		if writes != nil {
			writes.Reader.(*Session).endWrite()
		}
	}
}

// tookBack reports whether writes are stopped and nothing is in flight: what a caller was
// to write has been taken back, so that no reply to it comes.
func (s *Session) tookBack() bool { return s.p.queue.Withheld() && !s.p.queue.InFlight() }

// endWrite returns when nobody has the right to write. Who waits for the socket to take
// more gives up, which ends the session: see writeOnce.
func (s *Session) endWrite() {
	if err := s.SetWriteDeadline(longAgo); err != nil {
		s.Fail(redis.ErrIO.Wrap(err, "ending a write"))
	}
	s.p.queue.AwaitRelease()
	_ = s.SetWriteDeadline(time.Time{})
}
