package sock

import (
	"bufio"
	"bytes"
	"io"
	"time"

	"github.com/joomcode/redispipe/internal/command"
	"github.com/joomcode/redispipe/internal/timing"
)

// Read implements io.Reader.
func (s *Socket) Read(p []byte) (int, error) {
	s.Calls.Stop()
	n, err := s.Receive(p)
	s.received.Add(int64(n))
	switch { // a read that fills p counts up, others count down; the smallest buffer grows after one that fills it
	case n == len(p):
		s.filled++
	case s.filled > 0 && s.buffer.Size() > readBufferIdle:
		s.filled--
	}
	return n, err
}

// readInTime reads from Conn, within the time limits of Allow.
func (s *Socket) readInTime(p []byte) (int, error) {
	if s.timeout <= 0 || s.blocks >= command.Forever {
		return s.Conn.Read(p)
	}
	began := time.Now()
	_ = s.SetReadDeadline(began.Add(timing.Plus(s.timeout, s.blocks) - s.waited))
	n, err := s.Conn.Read(p)
	s.waited += time.Since(began)
	if s.come += n; s.come >= enoughProgress {
		s.NextReply()
	}
	return n, err
}

// NextReply starts the time limit of Allow for the next reply. The reader calls it.
func (s *Socket) NextReply() { s.waited, s.come = 0, 0 }

// Received returns the number of bytes received.
func (s *Socket) Received() int64 { return s.received.Load() }

// The read buffer of a socket is small at first, until something fills it, and again after the
// connection has been idle. It grows further if replies keep filling it.
const (
	readBufferIdle  = 2 << 10
	readBufferLeast = 32 << 10
	readBufferMost  = 128 << 10
	// growAfter is by how many the reads that filled the buffer must outnumber the others before it
	// grows to readBufferMost. A single large reply does not make it grow.
	growAfter = 4
)

// newReadBuffer gives the decoder a new buffer, with the unread bytes of the last one.
func (s *Socket) newReadBuffer(size int) {
	var from io.Reader = s
	left := 0
	if s.buffer != nil {
		left = s.buffer.Buffered()
	}
	if left > 0 {
		rest, _ := s.buffer.Peek(left)
		from = io.MultiReader(bytes.NewReader(bytes.Clone(rest)), s)
	}
	s.filled, s.buffer = 0, bufio.NewReaderSize(from, size)
	_, _ = s.buffer.Peek(left)
	s.Dec.Reset(s.buffer)
}

// FitReadBuffer grows or shrinks the decoder's buffer. The holder of the right to read calls it
// between two replies.
func (s *Socket) FitReadBuffer() {
	size := s.buffer.Size()
	var fit int
	switch {
	case s.idle.Load():
		fit = readBufferIdle
	case size == readBufferIdle && s.filled > 0:
		fit = readBufferLeast
	case size == readBufferLeast && s.filled >= growAfter:
		fit = readBufferMost
	default:
		return
	}
	if s.buffer.Buffered() > 0 {
		return
	}
	s.idle.Store(false)
	if fit != size {
		s.newReadBuffer(fit)
	}
}

// GrowReadBuffer makes room in a full buffer, to wait for the rest of a reply. It returns false if the
// buffer is large enough for most replies.
func (s *Socket) GrowReadBuffer() bool {
	if s.buffer.Size() >= readBufferLeast {
		return false
	}
	s.newReadBuffer(readBufferLeast)
	return true
}

// NoteIdle records that the connection has been idle. It may be called from any goroutine.
func (s *Socket) NoteIdle() { s.idle.Store(true) }
