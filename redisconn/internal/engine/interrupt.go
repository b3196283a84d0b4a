package engine

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/joomcode/redispipe/internal/sock"
	"github.com/joomcode/redispipe/redis"
)

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
