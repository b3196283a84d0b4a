package replies

import (
	"cmp"
	"net"
	"time"
)

// SetDeadline implements net.Conn.
func (s *Stream) SetDeadline(t time.Time) error { return s.setDeadline(t, true, true) }

// SetReadDeadline implements net.Conn.
func (s *Stream) SetReadDeadline(t time.Time) error { return s.setDeadline(t, true, false) }

// SetWriteDeadline implements net.Conn. It bounds [Stream.Await] and [Flight.Send].
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

// setAlarmLocked sets the alarm that wakes a waiting reader at the read deadline. Clients move the deadline
// to a later time with each request. That does not reset the alarm; it then rings early, and ring sets it
// again.
func (s *Stream) setAlarmLocked() {
	s.alarmed = s.readBy
	if s.alarm == nil {
		s.alarm = time.AfterFunc(time.Until(s.readBy), s.ring)
		return
	}
	s.alarm.Reset(time.Until(s.readBy))
}

// ring is the function of the alarm. It runs in its own goroutine.
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

// passedLocked reports whether a deadline has passed. If an alarm is set to an earlier time and has not
// rung, the deadline has not passed, so passedLocked need not read the clock.
func (s *Stream) passedLocked(deadline time.Time) bool {
	if deadline.IsZero() || !s.alarmed.IsZero() && !deadline.Before(s.alarmed) {
		return false
	}
	return !time.Now().Before(deadline)
}

// Await calls wait on behalf of a Write. Close must end the wait. If the write deadline passes during the
// wait, Await closes the stream, because it is not known how much of that Write was sent.
func (s *Stream) Await(wait func()) error {
	s.await(wait)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.late {
		return expired{sent: s.own != nil || s.mayHaveRunLocked()}
	}
	return nil
}

// closedLocked returns the error of a closed stream. If the stream was closed because the write
// deadline has passed and something was sent, the error must not look as if the client had closed the
// connection.
func (s *Stream) closedLocked(sent bool) error {
	if s.late {
		return expired{sent: sent}
	}
	return net.ErrClosed
}

// mayHaveRunLocked reports whether any request of the client may have run, or may still run.
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

// boundLocked sets the timer that closes the stream at the write deadline, if a call of Await is running.
func (s *Stream) boundLocked() {
	if s.overdue != nil {
		s.overdue.Stop()
		s.overdue = nil
	}
	if s.waits > 0 && !s.writeBy.IsZero() {
		s.overdue = time.AfterFunc(time.Until(s.writeBy), s.passed)
	}
}

// passed is the function of the timer for the write deadline. It runs in its own goroutine.
func (s *Stream) passed() {
	s.mu.Lock()
	if s.waits == 0 || s.writeBy.IsZero() || time.Now().Before(s.writeBy) { // the deadline has moved, or the clock was set back
		s.boundLocked()
		s.mu.Unlock()
		return
	}
	_ = s.closeAndUnlock(true)
}
