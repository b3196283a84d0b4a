package sock

import "bufio"

// The read buffer of a socket grows when replies fill it, and shrinks when the connection has been
// idle.
const (
	readBufferLeast = 32 << 10
	readBufferMost  = 128 << 10
	// The buffer grows when the reads that filled it outnumber the others by this many. A single
	// large reply does not make it grow.
	growAfter = 4
)

// newReadBuffer gives the decoder a new, empty buffer.
func (s *Socket) newReadBuffer(size int) {
	s.filled, s.size = 0, size
	s.Dec.Reset(bufio.NewReaderSize(s, size))
}

// FitReadBuffer grows or shrinks the decoder's buffer. The holder of the right to read calls it
// between two replies.
func (s *Socket) FitReadBuffer() {
	switch {
	case s.size == readBufferLeast && s.filled < growAfter, s.size == readBufferMost && !s.idle.Load():
		return
	case s.Dec.Buffered() > 0:
		return
	case s.size == readBufferLeast:
		s.newReadBuffer(readBufferMost)
	default:
		s.newReadBuffer(readBufferLeast)
	}
	s.idle.Store(false)
}

// noteRead counts a read: up if it filled all of p, and down if it did not.
func (s *Socket) noteRead(n int, p []byte) {
	if n == len(p) {
		s.filled++
	} else if s.filled > 0 {
		s.filled--
	}
}

// NoteIdle records that the connection has been idle. It may be called from any goroutine.
func (s *Socket) NoteIdle() { s.idle.Store(true) }
