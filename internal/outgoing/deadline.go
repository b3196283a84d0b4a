package outgoing

import (
	"net"
	"time"
)

// SetReadDeadline is that of net.Conn.
func (s *Stream) SetReadDeadline(t time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readBy = t
	s.wakeReaderLocked()
	switch {
	case s.closed:
		return net.ErrClosed
	case s.own != nil:
		return s.own.SetReadDeadline(t)
	}
	return nil
}

// SetWriteDeadline is that of net.Conn, for [Flight.Send].
func (s *Stream) SetWriteDeadline(t time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writeBy = t
	switch {
	case s.closed:
		return net.ErrClosed
	case s.own != nil:
		return s.own.SetWriteDeadline(t)
	}
	return nil
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
