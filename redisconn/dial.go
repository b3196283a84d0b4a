package redisconn

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"

	"github.com/joomcode/errorx"
)

// dial connects, and no more.
func (c *Connection) dial(ctx context.Context) (net.Conn, error) {
	if c.opts.Dialer == nil {
		dialer := net.Dialer{KeepAlive: c.opts.TCPKeepAlive}
		return dialer.DialContext(ctx, c.addr.network, c.addr.addr)
	}
	type dialed struct {
		conn net.Conn
		err  error
	}
	d, err := callUntil(ctx, c, "Opts.Dialer", func() (d dialed) {
		d.conn, d.err = c.opts.Dialer(ctx, c.addr.network, c.addr.addr)
		return d
	}, func(late dialed) {
		if late.conn != nil {
			_ = late.conn.Close()
		}
	})
	if err != nil {
		return nil, err
	}
	return d.conn, d.err
}

func (c *Connection) tlsConfig() *tls.Config {
	config := c.opts.TLSConfig.Clone()
	if config == nil {
		config = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	if config.ServerName == "" {
		config.ServerName = c.addr.host
	}
	return config
}

// tlsError tells a refusal, which stays, from a network that fails during the
// handshake.
func tlsError(err error) *errorx.Error {
	var (
		verification *tls.CertificateVerificationError
		record       tls.RecordHeaderError
		authority    x509.UnknownAuthorityError
		network      net.Error
	)
	switch {
	case errors.As(err, &verification), isAlert(err), errors.As(err, &record), errors.As(err, &authority):
		return ErrTLS.Wrap(err, "TLS handshake")
	case errors.As(err, &network), isClosed(err):
		return ErrDial.Wrap(err, "TLS handshake")
	}
	return ErrTLS.Wrap(err, "TLS handshake")
}

// isAlert reports whether err is a TLS alert. With TLS 1.3 the server's refusal of
// the client's certificate comes as the answer to the first request.
func isAlert(err error) bool {
	if e := errorx.Cast(err); e != nil && e.Cause() != nil {
		return isAlert(e.Cause())
	}
	var op *net.OpError
	return errors.As(err, &op) && (op.Op == "remote error" || op.Op == "local error")
}

func isClosed(err error) bool {
	return errors.Is(err, net.ErrClosed) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
