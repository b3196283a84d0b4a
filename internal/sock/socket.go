// Package sock has what all connections to a server share: sockets, the errors with which they end,
// and the check that requests and replies are in step.
package sock

import (
	"bufio"
	"crypto/tls"
	"io"
	"net"
	"sync/atomic"
	"time"

	"github.com/joomcode/redispipe/internal/resp"
	"github.com/joomcode/redispipe/internal/timing"
	"github.com/joomcode/redispipe/redis"
)

// Socket is a connection to a server. It has no goroutine and no lock: at any time one goroutine
// may read and one may write. Only the reader may use the fields and methods that are marked so.
// Any goroutine may use the others.
type Socket struct {
	net.Conn
	Dec *resp.Decoder // only for the reader
	// Peer is what the handshake has learned. It does not change after the handshake.
	Peer Peer
	// Calls is stopped before each read. It is set before the socket is shared; it may be nil.
	Calls *timing.Callbacks

	// Receive reads from Conn. An owner that must write before it reads may replace Receive before
	// the socket is shared. Then the time limits of Allow no longer apply.
	Receive func(p []byte) (int, error)

	received atomic.Int64
	// These fields belong to FitReadBuffer: the buffer of Dec, the number of reads that filled it
	// minus those that did not, and whether the connection has been idle since.
	buffer *bufio.Reader
	filled int
	idle   atomic.Bool

	timeout, blocks time.Duration // see Allow
	writes          time.Duration // see AllowWrites
	ended           atomic.Bool   // see EndWrites
	// waited is how long the reader has waited for the current reply, and come is how many bytes
	// have arrived in that time: see Read.
	waited time.Duration
	come   int
}

// Wrap returns a connection whose Close does not wait for TLS: it closes the connection under TLS.
func Wrap(conn net.Conn) net.Conn {
	if secured, ok := conn.(*tls.Conn); ok {
		return closer{secured}
	}
	return conn
}

// New returns a socket for conn, which is a result of Wrap.
func New(conn net.Conn, limits redis.Limits) *Socket {
	s := &Socket{Conn: conn, Dec: resp.NewDecoder(nil, resp.Limits(limits))}
	s.Receive = s.readInTime
	s.newReadBuffer(readBufferIdle)
	return s
}

// Allow sets the time limits of the next exchange, without setting deadlines. timeout bounds each
// write of up to writeMost, and the wait for the next reply or for the next part of it. blocks, the
// time for which the server may block, is added to that wait. A zero timeout means that only
// deadlines apply. Allow undoes EndWrites.
func (s *Socket) Allow(timeout, blocks time.Duration) {
	s.timeout, s.blocks = timeout, blocks
	s.AllowWrites(timeout)
	s.NextReply()
	s.ended.Store(false)
}

// AllowWrites is Allow for writes only. Another goroutine may be reading.
func (s *Socket) AllowWrites(timeout time.Duration) { s.writes = timeout }

// EndWrites makes the current Write, and all Writes until the next Allow, fail as soon as they
// would have to wait. It may be called from any goroutine.
func (s *Socket) EndWrites() {
	s.ended.Store(true)
	_ = s.SetWriteDeadline(LongAgo)
}

// LongAgo is a deadline that ends a wait at once.
var LongAgo = time.Unix(1, 0)

// writeMost is the number of bytes that are written within one time-out. A large value over a slow
// link may take longer as a whole.
const writeMost = 64 << 10

// Write implements io.Writer.
func (s *Socket) Write(p []byte) (n int, err error) {
	for err == nil && n < len(p) {
		part := p[n:]
		if s.writes > 0 {
			_ = s.SetWriteDeadline(time.Now().Add(s.writes))
			part = part[:min(len(part), writeMost)]
		}
		if s.ended.Load() { // EndWrites may have been called before the deadline was set
			_ = s.SetWriteDeadline(LongAgo)
		}
		var written int
		if written, err = s.Conn.Write(part); err == nil && written < len(part) {
			err = io.ErrShortWrite // a user's connection may break the contract of io.Writer
		}
		n += written
	}
	return n, err
}

// Secured reports whether the connection uses TLS. After a failed write over TLS it is not known
// how much was sent.
func (s *Socket) Secured() bool {
	_, secured := s.Conn.(closer)
	return secured
}

// Bare returns the connection under TLS, or the connection itself without TLS.
func (s *Socket) Bare() net.Conn {
	if secured, ok := s.Conn.(closer); ok {
		return secured.NetConn()
	}
	return s.Conn
}

// Interruptible reports whether a read can be interrupted and continued. A connection from a user's
// Dialer need not support deadlines.
func (s *Socket) Interruptible() bool {
	switch s.Bare().(type) {
	case *net.TCPConn, *net.UnixConn:
		return true
	}
	return false
}

// closer is a TLS connection whose Close closes the socket. tls.Conn.Close would send an alert,
// which may take 5 s, or forever on a transport without deadlines.
type closer struct{ *tls.Conn }

// Close implements net.Conn.
func (c closer) Close() error { return c.NetConn().Close() }

// Text returns the text of an address, or "" if it is nil, as it may be with a user's Dialer.
func Text(addr net.Addr) string {
	if addr == nil {
		return ""
	}
	return addr.String()
}

// Mark is the progress of a socket's requests. It changes when a request is answered, and, while
// the oldest request is being written, when the socket takes more of it.
type Mark struct {
	Answered uint64
	Taken    int64
}

// Progress distinguishes a server that has stopped answering from a slow one. It is not safe for
// concurrent use.
type Progress struct {
	// Since is since when too little has happened. A caller that knows why nothing arrives may set
	// it to the current time.
	Since    time.Time
	mark     Mark
	received int64
}

// enoughProgress is the number of bytes that must arrive within a time-out for the connection to
// count as alive although the oldest request is unanswered. A link that is even slower is useless.
const enoughProgress = 64 << 10

// Stalled reports whether the oldest request has waited for the time-out since oldest, when it was
// written, while no request was answered and too little of the reply arrived. received is the total
// number of bytes received.
func (p *Progress) Stalled(now, oldest time.Time, mark Mark, received int64, timeout time.Duration) bool {
	if mark != p.mark || received-p.received >= enoughProgress {
		p.Since, p.mark, p.received = now, mark, received
	}
	if oldest.After(p.Since) {
		p.Since, p.received = oldest, received
	}
	return now.Sub(p.Since) >= timeout
}
