// Package sock is a connection to a server with the decoder of what comes: whatever talks
// to a server is made of one.
package sock

import (
	"bufio"
	"crypto/tls"
	"io"
	"net"
	"sync/atomic"
	"time"

	"github.com/joomcode/redispipe/internal/command"
	"github.com/joomcode/redispipe/internal/resp"
	"github.com/joomcode/redispipe/internal/timing"
	"github.com/joomcode/redispipe/redis"
)

// Socket is a connection to a server. It has no goroutine and no lock of its own: one
// goroutine at a time reads, and one writes. What is not said to be the reader's may be
// used by anybody.
type Socket struct {
	net.Conn
	Dec *resp.Decoder // the reader's
	// Peer is what the handshake has learned. It does not change after that.
	Peer Peer
	// Calls is stopped before each read. It is set before the socket is shared, or nil.
	Calls *timing.Callbacks

	received atomic.Int64
	// See FitReadBuffer: the size of Dec's buffer, how many more reads have filled it than
	// have not, and whether the connection has been idle since.
	size, filled int
	idle         atomic.Bool

	timeout, blocks time.Duration // see Allow
	writes          time.Duration // see AllowWrites
	ended           atomic.Bool   // see EndWrites
	// waited is for how long the reader has waited for what it reads now, and come is how much of
	// that has come meanwhile: see Read.
	waited time.Duration
	come   int
}

// Wrap returns the connection such that TLS is closed by closing what is under it.
func Wrap(conn net.Conn) net.Conn {
	if secured, ok := conn.(*tls.Conn); ok {
		return closer{secured}
	}
	return conn
}

// New makes a socket of a connection that Wrap has returned.
func New(conn net.Conn, limits redis.Limits) *Socket {
	s := &Socket{Conn: conn, Dec: resp.NewDecoder(nil, resp.Limits(limits))}
	s.newReadBuffer(readBufferLeast)
	return s
}

// Allow sets the time that the next exchange has, in place of deadlines: timeout bounds
// each write of up to writeMost, and the time for which the reader waits for the next reply, or
// for so much more of it; the time for which the server may block is added to that. Zero leaves it to
// the deadlines. It takes back EndWrites.
func (s *Socket) Allow(timeout, blocks time.Duration) {
	s.timeout, s.blocks = timeout, blocks
	s.AllowWrites(timeout)
	s.NextReply()
	s.ended.Store(false)
}

// AllowWrites is Allow for writes alone, whoever reads.
func (s *Socket) AllowWrites(timeout time.Duration) { s.writes = timeout }

// NextReply has the next reply wait for as long as Allow has set, whatever came before it. The reader
// calls it.
func (s *Socket) NextReply() { s.waited, s.come = 0, 0 }

// EndWrites ends the Write that is under way, and those that follow before the next Allow, as
// soon as they would wait. Anybody may call it.
func (s *Socket) EndWrites() {
	s.ended.Store(true)
	_ = s.SetWriteDeadline(LongAgo)
}

// LongAgo is the deadline that ends a wait.
var LongAgo = time.Unix(1, 0)

// Read implements io.Reader.
func (s *Socket) Read(p []byte) (int, error) {
	s.Calls.Stop()
	bounded := s.timeout > 0 && s.blocks < command.Forever
	var began time.Time
	if bounded {
		began = time.Now()
		_ = s.SetReadDeadline(began.Add(timing.Plus(s.timeout, s.blocks) - s.waited))
	}
	n, err := s.Conn.Read(p)
	if bounded {
		s.waited += time.Since(began)
		if s.come += n; s.come >= enoughProgress {
			s.NextReply()
		}
	}
	s.received.Add(int64(n))
	s.noteRead(n, p)
	return n, err
}

// writeMost is how many bytes are written within one time-out: a large value over a slow link
// takes longer as a whole.
const writeMost = 64 << 10

// Write implements io.Writer.
func (s *Socket) Write(p []byte) (n int, err error) {
	for err == nil && n < len(p) {
		part := p[n:]
		if s.writes > 0 {
			_ = s.SetWriteDeadline(time.Now().Add(s.writes))
			part = part[:min(len(part), writeMost)]
		}
		if s.ended.Load() { // perhaps since before the deadline was set
			_ = s.SetWriteDeadline(LongAgo)
		}
		var written int
		if written, err = s.Conn.Write(part); err == nil && written < len(part) {
			err = io.ErrShortWrite // of a user's connection
		}
		n += written
	}
	return n, err
}

// Received returns how many bytes were received.
func (s *Socket) Received() int64 { return s.received.Load() }

// Secured reports whether the connection is TLS: how much of a failed write was sent is not
// known then.
func (s *Socket) Secured() bool {
	_, secured := s.Conn.(closer)
	return secured
}

// Bare returns the connection under TLS, or the socket's own without TLS.
func (s *Socket) Bare() net.Conn {
	if secured, ok := s.Conn.(closer); ok {
		return secured.NetConn()
	}
	return s.Conn
}

// Interruptible reports whether a read can be ended and taken up again: what a user's
// Dialer returns need not know deadlines.
func (s *Socket) Interruptible() bool {
	switch s.Bare().(type) {
	case *net.TCPConn, *net.UnixConn:
		return true
	}
	return false
}

// closer is a TLS connection that is closed by closing its socket. tls.Conn.Close sends an
// alert, for which it may wait: for 5 s, and forever on a transport without deadlines.
type closer struct{ *tls.Conn }

// Close implements net.Conn.
func (c closer) Close() error { return c.NetConn().Close() }

// Text returns the text of an address, which a user's dialer may leave out.
func Text(addr net.Addr) string {
	if addr == nil {
		return ""
	}
	return addr.String()
}

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

// FitReadBuffer gives the decoder a larger buffer, or a small one again. The holder of the
// right to read calls it, between two replies.
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

// Mark says how far the requests of a socket have come: it changes whenever one is answered, and while
// the oldest one is being written, whenever the socket takes more of it.
type Mark struct {
	Answered uint64
	Taken    int64
}

// Progress tells a server that has stopped answering from one that is slow. It is not safe for
// concurrent use.
type Progress struct {
	// Since is when too little began to happen. A caller that knows why nothing comes may set it
	// to the present.
	Since    time.Time
	mark     Mark
	received int64
}

// enoughProgress is what has to come in within a time-out for a connection to
// count as alive, though the oldest request is not answered: a link that is
// slower than this, 64 KiB/s by default, is of no use.
const enoughProgress = 64 << 10

// Stalled reports whether the oldest request, which was written at that time, has waited for the
// time-out while nothing was answered, and too little of its answer has come in. received is what
// has come in on the whole.
func (p *Progress) Stalled(now, oldest time.Time, mark Mark, received int64, timeout time.Duration) bool {
	if mark != p.mark || received-p.received >= enoughProgress {
		p.Since, p.mark, p.received = now, mark, received
	}
	if oldest.After(p.Since) {
		p.Since, p.received = oldest, received
	}
	return now.Sub(p.Since) >= timeout
}
