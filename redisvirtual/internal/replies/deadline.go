package replies

import (
	"cmp"
	"net"
	"time"
)

// SetDeadline is that of net.Conn.
func (s *Stream) SetDeadline(t time.Time) error { return s.setDeadline(t, true, true) }

// SetReadDeadline is that of net.Conn.
func (s *Stream) SetReadDeadline(t time.Time) error { return s.setDeadline(t, true, false) }

// SetWriteDeadline is that of net.Conn, for [Stream.Await] and [Flight.Send].
func (s *Stream) SetWriteDeadline(t time.Time) error { return s.setDeadline(t, false, true) }

func (s *Stream) setDeadline(t time.Time, read, write bool) (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if read {
		s.readBy = t
		s.wakeReaderLocked()
	}
	if write {
		s.writeBy = t
		s.boundLocked()
	}
	switch {
	case s.closed.Load():
		return net.ErrClosed
	case s.own == nil:
		return nil
	}
	if read {
		err = s.own.SetReadDeadline(t)
	}
	if write {
		err = cmp.Or(err, s.own.SetWriteDeadline(t))
	}
	return err
}

// setAlarmLocked has who waits to read woken at the deadline. A deadline that moves on, as with each
// request, does not set it again: it rings early, and looks for itself.
func (s *Stream) setAlarmLocked() {
	s.alarmed = s.readBy
	if s.alarm == nil {
		s.alarm = time.AfterFunc(time.Until(s.readBy), s.ring)
		return
	}
	s.alarm.Reset(time.Until(s.readBy))
}

// ring is called by the alarm, in a goroutine that ends with it.
func (s *Stream) ring() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.alarmed = time.Time{}
	switch {
	case s.readers == 0 || s.readBy.IsZero():
	case s.passedLocked(s.readBy):
		s.wakeReaderLocked()
	default:
		s.setAlarmLocked()
	}
}

// passedLocked reports whether a deadline has passed. As long as an alarm is to ring before it, it has
// not, which takes no look at the clock.
func (s *Stream) passedLocked(deadline time.Time) bool {
	if deadline.IsZero() || !s.alarmed.IsZero() && !deadline.Before(s.alarmed) {
		return false
	}
	return !time.Now().Before(deadline)
}

// Await calls wait, which Close ends, for a Write. If the write deadline passes meanwhile, it closes
// the stream: nobody knows how much of that Write was sent.
func (s *Stream) Await(wait func()) error {
	s.await(wait)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.late {
		return expired{sent: s.own != nil || s.mayHaveRunLocked()}
	}
	return nil
}

// closedLocked is what a closed stream returns. If it is closed because the write deadline has passed,
// clients must not take it for a connection that they have closed, if something was sent.
func (s *Stream) closedLocked(sent bool) error {
	if s.late {
		return expired{sent: sent}
	}
	return net.ErrClosed
}

// mayHaveRunLocked reports whether something of what the client has written may have run, or may run still.
func (s *Stream) mayHaveRunLocked() bool { return s.unresolved > 0 || s.serving || s.ran }

func (s *Stream) await(wait func()) {
	s.mu.Lock()
	s.waits++
	s.boundLocked()
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.waits--
		s.boundLocked()
	}()
	wait()
}

// boundLocked has the write deadline bound what waits.
func (s *Stream) boundLocked() {
	if s.overdue != nil {
		s.overdue.Stop()
		s.overdue = nil
	}
	if s.waits > 0 && !s.writeBy.IsZero() {
		s.overdue = time.AfterFunc(time.Until(s.writeBy), s.passed)
	}
}

// passed is called at a write deadline, in a goroutine that ends with it.
func (s *Stream) passed() {
	s.mu.Lock()
	if s.waits == 0 || s.writeBy.IsZero() || time.Now().Before(s.writeBy) { // it has moved, or the clock
		s.boundLocked()
		s.mu.Unlock()
		return
	}
	_ = s.closeAndUnlock(true)
}
