package pipe

import (
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/redis"
)

// StopWrites stops the writing of users' requests. A goroutine that is just about to
// write still does so, if the socket takes the bytes at once. Requests that are not
// written end with closed; if one is written only in part, the session ends. stop returns
// when nobody writes any more.
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

// endWrite returns when nobody has the right to write. A writer that waits for the socket
// to take more gives up, which ends the session: see writeOnce.
func (s *Session) endWrite() {
	if err := s.SetWriteDeadline(longAgo); err != nil {
		s.Fail(redis.ErrIO.Wrap(err, "ending a write"))
	}
	s.p.queue.AwaitRelease()
	_ = s.SetWriteDeadline(time.Time{})
}
