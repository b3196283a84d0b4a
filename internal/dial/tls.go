package dial

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"

	"github.com/joomcode/errorx"
)

// TLSConfig returns a copy of the user's configuration, which may be nil, for the server with the
// name host.
func TLSConfig(given *tls.Config, host string) *tls.Config {
	config := given.Clone()
	if config == nil {
		config = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	if config.ServerName == "" {
		config.ServerName = host
	}
	return config
}

// tlsError distinguishes a refusal, which is permanent, from a failure of the network during the
// handshake.
func tlsError(err error) *errorx.Error {
	var network net.Error
	if !isAlert(err) && (errors.As(err, &network) || isClosed(err)) {
		return ErrDial.Wrap(err, "TLS handshake")
	}
	return ErrTLS.Wrap(err, "TLS handshake")
}

// isAlert reports whether err is a TLS alert. With TLS 1.3, a server refuses the client's
// certificate only in its answer to the first request.
func isAlert(err error) bool {
	if e := errorx.Cast(err); e != nil && e.Cause() != nil {
		return isAlert(e.Cause())
	}
	var op *net.OpError
	return errors.As(err, &op) && (op.Op == "remote error" || op.Op == "local error")
}

// isUntrusted reports whether err says that a server's certificate was not accepted.
func isUntrusted(err error) bool {
	var untrusted *tls.CertificateVerificationError
	return errors.As(err, &untrusted)
}

func isClosed(err error) bool {
	return errors.Is(err, net.ErrClosed) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
