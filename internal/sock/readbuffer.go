package sock

import "bufio"

// The read buffer of a socket grows when replies fill it, and is small again when the
// connection was idle.
const (
	readBufferLeast = 32 << 10
	readBufferMost  = 128 << 10
	// So many more reads have filled the buffer than have not, before it grows: a large
	// reply now and then does not do that.
	growAfter = 4
)

// newReadBuffer gives the decoder an empty buffer.
func (s *Socket) newReadBuffer(size int) {
	s.filled, s.size = 0, size
	s.Dec.Reset(bufio.NewReaderSize(s, size))
}

// FitReadBuffer gives the decoder a larger buffer, or a small one again. It is called by the holder of the right to read, between two replies.
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

// noteRead counts the reads that have filled all of p, beyond those that have not.
func (s *Socket) noteRead(n int, p []byte) {
	if n == len(p) {
		s.filled++
	} else if s.filled > 0 {
		s.filled--
	}
}

// NoteIdle notes that the connection has been idle. Anybody may call it.
func (s *Socket) NoteIdle() { s.idle.Store(true) }
