package redisconn

import (
	"context"
	"crypto/tls"
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/sock"
)

// socket is a connection to a server: dialed, secured and greeted.
type socket struct {
	*sock.Socket
	trip time.Duration // of the last handshake
	cr   Credentials   // of the last handshake
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
	conn = sock.Wrap(conn) // the Dialer's may be TLS
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
		conn = sock.Wrap(secured)
	}
	s := &socket{Socket: sock.New(conn, c.opts.Limits)}
	if c.opts.Protocol != 3 {
		s.Dec.OnlyRESP2()
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
