package testbed

import (
	"crypto/tls"
	"time"
)

// Options are the options of a server. The zero value runs a server without password and
// TLS that keeps nothing on disk.
type Options struct {
	// Binary is a path, or a name to look up in $PATH. Default:
	// $REDIS_SERVER or, if that is not set, "redis-server".
	Binary string
	// Password is the password of the default user; empty means none.
	Password string
	// ACL lists users, as in "alice on >secret ~* &* +@all". The default user
	// must keep its permissions, because the testbed itself is that user.
	ACL []string
	// Unix makes the server also listen on a unix socket.
	Unix bool
	// TLS also opens a TLS port.
	TLS bool
	// CA signs the server's certificate. Default with TLS: a new one.
	CA *CA
	// Certificate is the server's certificate. The methods of CA make bad ones. Default with TLS:
	// CA.Server().
	Certificate *tls.Certificate
	// ClientCerts makes the TLS port refuse clients without a certificate of CA.
	ClientCerts bool
	// Persist makes the data survive Restart, and also Kill (in an append-only file).
	Persist bool
	// Config has further lines of redis.conf. They come last and override earlier lines.
	Config []string
	// StartTimeout bounds each start, including the loading of data. Default 1 min, because the
	// machine may be busy.
	StartTimeout time.Duration

	// cluster, if not zero, turns on cluster mode with this node time-out.
	cluster time.Duration
	// sentinel holds the configuration lines that make the server a sentinel.
	sentinel []string
	// keepConfig keeps the redis.conf that the server has rewritten over restarts.
	keepConfig bool
}

// withDefaults fills in the defaults that do not depend on a server.
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
