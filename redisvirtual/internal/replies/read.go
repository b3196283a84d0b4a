package replies

import (
	"io"
	"net"
)

// Read is that of net.Conn.
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

// drainLocked reads what is there, up to the first reply that is not.
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

// readableLocked returns the socket that is to be read, or why nothing will come. If it returns
// neither, something may come.
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

// awaitLocked waits, without the lock, until there is something to look at.
func (s *Stream) awaitLocked() {
	if !s.readBy.IsZero() && (s.alarmed.IsZero() || s.readBy.Before(s.alarmed)) {
		s.setAlarmLocked()
	}
	s.readers++
	s.mu.Unlock()
	<-s.wake
	s.mu.Lock()
	if s.readers--; s.readers > 0 {
		s.wakeReaderLocked() // it may have been for another
	}
}

// wakeReaderLocked wakes who waits.
func (s *Stream) wakeReaderLocked() {
	if s.readers > 0 {
		s.wakeReader()
	}
}

// wakeReader wakes who waits, or else has the next who does look once for nothing.
func (s *Stream) wakeReader() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}
