package testbed

import (
	"crypto/tls"
	"time"
)

// Options says how to run a server. The zero value runs a bare one, with
// neither password nor TLS, that keeps nothing on disk.
type Options struct {
	// Binary is a path, or a name to be looked up in $PATH. Default:
	// $REDIS_SERVER, or else "redis-server".
	Binary string
	// Password is what the default user has to give; empty means none.
	Password string
	// ACL lists users, as in "alice on >secret ~* &* +@all". The default user
	// has to stay able to run commands: the testbed itself is that user.
	ACL []string
	// Unix makes the server listen on a unix socket too.
	Unix bool
	// TLS opens a TLS port too.
	TLS bool
	// CA signs the server's certificate. Default with TLS: a new one.
	CA *CA
	// Certificate is what the server shows; see CA for bad ones. Default with
	// TLS: CA.Server().
	Certificate *tls.Certificate
	// ClientCerts makes the TLS port refuse clients without a certificate of CA.
	ClientCerts bool
	// Persist keeps the data (as an append-only file) over Restart, and over
	// Kill followed by Restart as well.
	Persist bool
	// Config holds further lines of redis.conf. They come last, and so win.
	Config []string
	// StartTimeout bounds each start, loading of data included. Default 1 min: it is there
	// to end what hangs, and a machine may be busy.
	StartTimeout time.Duration

	// cluster turns cluster mode on; it holds the node time-out.
	cluster time.Duration
	// sentinel makes the server a sentinel, by these lines of its configuration.
	sentinel []string
	// keepConfig leaves redis.conf over restarts as the server has rewritten it.
	keepConfig bool
}

// withDefaults fills in what can be told without a server.
func (o Options) withDefaults() (Options, error) {
	var err error
	if o.StartTimeout <= 0 {
		o.StartTimeout = time.Minute
	}
	if o.Binary, err = lookBinary(o.Binary); err != nil || !o.TLS {
		return o, err
	}
	if o.CA == nil {
		if o.CA, err = NewCA(); err != nil {
			return o, err
		}
	}
	if o.Certificate == nil {
		cert, err := o.CA.Server()
		if err != nil {
			return o, err
		}
		o.Certificate = &cert
	}
	return o, nil
}
