package redisconn

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"strconv"
	"strings"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/redis"
)

// address is where a server listens.
type address struct {
	text    string // as given
	network string // "tcp" or "unix"
	addr    string // host:port or a path
	host    string // for TLS; empty for unix sockets
}

// parseAddress takes an address apart. It does not resolve names.
func parseAddress(text string) (address, error) {
	a := address{text: text, network: "tcp", addr: text}
	switch scheme, rest, found := strings.Cut(text, "://"); {
	case text == "":
		return a, redis.ErrNoAddressProvided.New("address is empty")
	case found && scheme == "tcp":
		a.addr = rest
	case found && scheme == "unix":
		a.network, a.addr = "unix", rest
	case found:
		return a, ErrAddress.New("address has a scheme other than tcp or unix")
	case text[0] == '.' || text[0] == '/':
		a.network = "unix"
	}
	if a.network == "unix" {
		if a.addr == "" || strings.ContainsRune(a.addr, 0) {
			return a, ErrAddress.New("address has no valid path")
		}
		return a, nil
	}
	host, port, err := net.SplitHostPort(a.addr)
	if err != nil {
		return a, ErrAddress.New("address is not host:port")
	}
	if strings.ContainsFunc(host, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return a, ErrAddress.New("address has a host with spaces or control characters")
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return a, ErrAddress.New("address has no port from 1 to 65535")
	}
	a.host = host
	return a, nil
}

// dial connects, and no more.
func (c *Connection) dial(ctx context.Context) (net.Conn, error) {
	if c.opts.Dialer != nil {
		return c.opts.Dialer(ctx, c.addr.network, c.addr.addr)
	}
	dialer := net.Dialer{KeepAlive: c.opts.TCPKeepAlive}
	return dialer.DialContext(ctx, c.addr.network, c.addr.addr)
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
