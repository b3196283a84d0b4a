package redisconn

import (
	"context"
	"crypto/tls"
	"net"
	"sync/atomic"
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/command"
	"github.com/joomcode/redispipe/redis"
)

// socket is a connection to a server: dialed, secured, greeted, with the decoder of
// what comes. Whatever talks to a server is made of one. It has no goroutine and no
// lock of its own: one goroutine at a time reads, and one writes.
type socket struct {
	net.Conn
	dec      *redis.Decoder
	received atomic.Int64 // bytes
	calls    *callbackClock

	// See readbuffer.go: the size of dec's buffer, how many more reads have filled
	// it than have not, and whether the connection has been idle since.
	size, filled int
	idle         atomic.Bool

	trip time.Duration // of the last handshake
	cr   Credentials   // of the last handshake

	// timeout bounds each read and write, if it is positive. A read has the time for
	// which the server may block beside.
	timeout, blocks time.Duration
}

// open dials, secures, asks for the credentials and greets. After the steps of every
// connection it takes those that are given. ctx, DialTimeout, and the end of the
// connection bound all of it, whatever the user's functions do.
func (c *Connection) open(ctx context.Context, steps ...step) (*socket, *errorx.Error) {
	ctx, cancel := context.WithTimeout(ctx, c.opts.DialTimeout)
	defer cancel()
	defer context.AfterFunc(c.ctx, cancel)()
	conn, err := c.dial(ctx)
	if err != nil {
		return nil, ErrDial.Wrap(err, "dialing")
	}
	if conn == nil {
		return nil, ErrDial.New("Opts.Dialer returned no connection")
	}
	if secured, ok := conn.(*tls.Conn); ok { // the Dialer's
		conn = socketCloser{secured}
	}
	// Closing is what ends a stalled handshake when the context ends.
	dialed := conn
	stop := context.AfterFunc(ctx, func() { _ = dialed.Close() })
	defer stop()
	if c.opts.TLSEnabled {
		secured := tls.Client(conn, c.tlsConfig())
		refused, err := callUntil(ctx, c, "a function of Opts.TLSConfig", func() error { return secured.HandshakeContext(ctx) }, func(error) {})
		if err != nil {
			_ = conn.Close()
			return nil, ErrDial.Wrap(err, "TLS handshake")
		}
		if refused != nil {
			_ = conn.Close()
			return nil, tlsError(refused)
		}
		conn = socketCloser{secured}
	}
	s := &socket{Conn: conn}
	s.dec = redis.NewDecoder(nil, c.opts.Limits)
	s.newReadBuffer(readBufferLeast)
	if c.opts.Protocol != 3 {
		s.dec.OnlyRESP2()
	}
	defer c.rotation.begin()()
	var failure *errorx.Error
	if s.cr, failure = c.credentials(ctx); failure == nil {
		failure = c.handshake(s, append(c.steps(s.cr), steps...))
	}
	if failure != nil {
		_ = conn.Close()
		return nil, failure
	}
	if !stop() { // or it would be closed later, under whoever uses it
		_ = conn.Close()
		return nil, ErrDial.Wrap(ctx.Err(), "dialing")
	}
	return s, nil
}

// Read implements io.Reader.
func (s *socket) Read(p []byte) (int, error) {
	s.calls.stop()
	if s.timeout > 0 && s.blocks < command.Forever {
		_ = s.SetReadDeadline(time.Now().Add(plus(s.timeout, s.blocks)))
	}
	n, err := s.Conn.Read(p)
	s.received.Add(int64(n))
	s.noteRead(n, p)
	return n, err
}

// Write implements io.Writer.
func (s *socket) Write(p []byte) (int, error) {
	if s.timeout > 0 {
		_ = s.SetWriteDeadline(time.Now().Add(s.timeout))
	}
	return s.Conn.Write(p)
}

// socketCloser is a TLS connection that is closed by closing its socket. The farewell
// of tls.Conn.Close may wait for a send buffer that is full: for 5 s, and forever
// on a transport without deadlines.
type socketCloser struct{ *tls.Conn }

// Close implements net.Conn.
func (s socketCloser) Close() error { return s.NetConn().Close() }

// bare returns the connection under TLS, or the socket's own without TLS.
func (s *socket) bare() net.Conn {
	if secured, ok := s.Conn.(socketCloser); ok {
		return secured.NetConn()
	}
	return s.Conn
}

// interruptible reports whether a read can be ended and taken up again: what a user's
// Dialer returns need not know deadlines.
func (s *socket) interruptible() bool {
	switch s.bare().(type) {
	case *net.TCPConn, *net.UnixConn:
		return true
	}
	return false
}
