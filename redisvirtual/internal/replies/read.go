package replies

import (
	"io"
	"net"
)

// Read implements net.Conn.
func (s *Stream) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	s.mu.Lock()
	for {
		if s.own == nil && !s.closed.Load() && s.passedLocked(s.readBy) {
			sent := s.mayHaveRunLocked()
			s.mu.Unlock()
			return 0, expired{sent: sent}
		}
		if n := s.drainLocked(p); n > 0 {
			s.mu.Unlock()
			return n, nil
		}
		own, err := s.readableLocked()
		if own != nil || err != nil {
			s.mu.Unlock()
			if err != nil {
				return 0, err
			}
			return own.Read(p)
		}
		s.awaitLocked()
	}
}

// drainLocked copies the available replies to p, up to the first missing one.
func (s *Stream) drainLocked(p []byte) (n int) {
	for f := s.head; f != nil; f = s.head {
		for f.read < len(f.replies) {
			r := &f.replies[f.read]
			if !r.done || r.lost != nil || n == len(p) {
				return n
			}
			m := copy(p[n:], r.frame[f.off:])
			n += m
			if f.off += m; f.off < len(r.frame) {
				return n
			}
			f.read, f.off = f.read+1, 0
		}
		if s.head = f.next; s.head == nil {
			s.tail = nil
		}
		if f.gone = f.sending; !f.gone {
			f.put()
		}
	}
	return n
}

// readableLocked returns the client's separate socket if the next data comes from there, or an error if no
// more data will arrive. If it returns neither, replies may still arrive.
func (s *Stream) readableLocked() (own net.Conn, err error) {
	switch {
	case s.closed.Load():
		return nil, s.closedLocked(s.mayHaveRunLocked())
	case s.failed != nil && s.unresolved == 0:
		return nil, s.failureLocked()
	case s.head == nil && s.ended:
		return nil, io.EOF
	case s.head == nil && s.own != nil:
		return s.own, nil
	}
	return nil, nil
}

// awaitLocked waits, without the lock, until the state may have changed.
func (s *Stream) awaitLocked() {
	if !s.readBy.IsZero() && (s.alarmed.IsZero() || s.readBy.Before(s.alarmed)) {
		s.setAlarmLocked()
	}
	s.readers++
	s.mu.Unlock()
	<-s.wake
	s.mu.Lock()
	if s.readers--; s.readers > 0 {
		s.wakeReaderLocked() // the signal may have been meant for another reader
	}
}

// wakeReaderLocked wakes a waiting reader.
func (s *Stream) wakeReaderLocked() {
	if s.readers > 0 {
		s.wakeReader()
	}
}

// wakeReader wakes a waiting reader. If there is none, the next reader wakes up once without need.
func (s *Stream) wakeReader() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}
