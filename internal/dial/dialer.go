// Package dial makes sockets on which the handshake is done, from an address and a configuration.
// It knows nothing of connections: its callers name the connection in errors.
package dial

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/histogram"
	"github.com/joomcode/redispipe/internal/lifetime"
	"github.com/joomcode/redispipe/internal/sock"
	"github.com/joomcode/redispipe/redis"
)

// Dialer makes sockets. It is safe for concurrent use.
type Dialer struct {
	Config
	handshakes
	peers
	ctx     context.Context
	overdue overdue
	opened  histogram.Times
	dialed  atomic.Uint64 // the number of the last socket
	asking  atomic.Int32  // calls of Provider that have not returned
	// staysPut is set if the server has refused CLIENT CAPA. Then a master that becomes a replica
	// will not answer with REDIRECT.
	staysPut atomic.Bool
	moved    moved
}

// New returns a Dialer. Its attempts end when ctx ends.
func New(ctx context.Context, config Config) *Dialer {
	return &Dialer{Config: config, ctx: ctx, overdue: overdue{panicked: config.Panicked}}
}

// Open dials, sets up TLS, asks for the credentials, and does the handshake: the steps of every
// connection, and then the given ones. ctx, Timeout and the Dialer's context bound all of this, no
// matter what users' functions do.
func (d *Dialer) Open(ctx context.Context, steps ...Step) (*Socket, *errorx.Error) {
	return d.openGreeted(ctx, opening{to: d.address(), pings: d.Integrity, more: steps})
}

// opening describes a socket that is to be opened.
type opening struct {
	to    Address
	pings bool   // the user must be allowed to call PING
	hears bool   // the client asks the server to announce maintenance
	more  []Step // the last steps of the handshake
}

// OpenPinging is Open for a socket whose user must be allowed to call PING.
func (d *Dialer) OpenPinging(ctx context.Context) (*Socket, *errorx.Error) {
	return d.openGreeted(ctx, opening{to: d.address(), pings: true})
}

func (d *Dialer) openGreeted(given context.Context, o opening) (*Socket, *errorx.Error) {
	began := time.Now()
	s, failure := d.openAdapted(given, o)
	switch {
	case failure == nil:
		d.opened.Add(time.Since(began))
	case given.Err() == nil:
		d.moved.failed(o.to)
	}
	return s, failure
}

// Opened returns a histogram of how long it took to open each socket, including the handshake.
func (d *Dialer) Opened() *histogram.Histogram { return d.opened.Histogram() }

func (d *Dialer) openAdapted(given context.Context, o opening) (*Socket, *errorx.Error) {
	return d.bounded(given, func(ctx context.Context) (*Socket, *errorx.Error) {
		return d.adapted(&d.Config, func(as sock.Peer) (*Socket, bool, *errorx.Error) {
			echoes := false
			s, failure := d.attempt(given, ctx, o.to, as, func(s *Socket) (failure *errorx.Error) {
				defer d.Begin()()
				if o.hears {
					s.keepEarly()
				}
				if s.Credentials, failure = d.Ask(ctx); failure == nil {
					failure = s.greet(d.Timeout, d.steps(s, o))
				}
				echoes = s.echoes
				return failure
			})
			return s, echoes, failure
		})
	})
}

// OpenSilent dials and sets up TLS, as Open does, but leaves the handshake to callers that use
// other credentials.
func (d *Dialer) OpenSilent(ctx context.Context) (*Socket, *errorx.Error) {
	return d.bounded(ctx, func(bounded context.Context) (*Socket, *errorx.Error) {
		return d.attempt(ctx, bounded, d.address(), sock.Peer{}, func(*Socket) *errorx.Error { return nil })
	})
}

// bounded calls open, and bounds it by Timeout, given and the Dialer's context. If given has ended,
// the error says why.
func (d *Dialer) bounded(given context.Context, open func(context.Context) (*Socket, *errorx.Error)) (*Socket, *errorx.Error) {
	ctx, cancel := context.WithTimeout(given, d.Timeout)
	defer cancel()
	defer context.AfterFunc(d.ctx, cancel)()
	s, failure := open(ctx)
	if why := lifetime.Reason(given); failure != nil && why != nil && !errs.CausedBy(failure, why) {
		failure = errs.Because(failure, why)
	}
	return s, failure
}

// attempt dials an address, sets up TLS and does the handshake for a kind of peer, until ctx is done. ctx is given with a deadline.
func (d *Dialer) attempt(given, ctx context.Context, to Address, as sock.Peer, greet func(*Socket) *errorx.Error) (*Socket, *errorx.Error) {
	conn, err := d.connect(ctx, to)
	if isUntrusted(err) {
		return nil, ErrTLS.Wrap(err, "dialing")
	}
	if err != nil {
		return nil, ErrDial.Wrap(err, "dialing")
	}
	if errs.IsNil(conn) {
		return nil, ErrDial.New("Opts.Dialer returned no connection")
	}
	conn = sock.Wrap(conn) // the connection of a user's Dialer may be TLS
	// When the context ends, closing the socket ends a stalled handshake.
	dialed := conn
	stop := context.AfterFunc(ctx, func() { _ = dialed.Close() })
	defer stop()
	var failure *errorx.Error
	if d.TLS {
		if conn, failure = d.secure(ctx, conn, to.host); failure != nil {
			_ = dialed.Close()
			return nil, failure
		}
	}
	s := &Socket{Socket: sock.New(conn, d.Limits), Number: d.dialed.Add(1)}
	s.Peer = as
	if d.Protocol != 3 || as.RESP2 {
		s.Dec.OnlyRESP2()
	}
	if failure = greet(s); failure != nil {
		_ = conn.Close()
		if failure.IsOfType(ErrConnSetup) && given.Err() == nil && ctx.Err() != nil {
			// Otherwise the error would only say that the socket was closed.
			failure = errs.Because(failure, ctx.Err())
		}
		return nil, failure
	}
	if !stop() { // otherwise ctx would close the socket later, while it is in use
		_ = conn.Close()
		return nil, ErrDial.Wrap(ctx.Err(), "dialing")
	}
	return s, nil
}

// connect opens the network connection. It does not set up TLS.
func (d *Dialer) connect(ctx context.Context, to Address) (net.Conn, error) {
	if d.Dialer == nil {
		dialer := net.Dialer{KeepAlive: d.KeepAlive}
		return dialer.DialContext(ctx, to.network, to.addr)
	}
	type dialed struct {
		conn net.Conn
		err  error
	}
	got, err := callUntil(ctx, &d.overdue, "Opts.Dialer", func() (got dialed) {
		got.conn, got.err = d.Config.Dialer(ctx, to.network, to.addr)
		return got
	}, func(late dialed) {
		if late.conn != nil {
			_ = late.conn.Close()
		}
	})
	if err != nil {
		return nil, err
	}
	return got.conn, got.err
}

// secure sets up TLS on a connection. It does not close the connection.
func (d *Dialer) secure(ctx context.Context, conn net.Conn, host string) (net.Conn, *errorx.Error) {
	secured := tls.Client(conn, TLSConfig(d.TLSConfig, host))
	refused, err := callUntil(ctx, &d.overdue, "a function of Opts.TLSConfig",
		func() error { return secured.HandshakeContext(ctx) }, func(error) {})
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, ErrDial.Wrap(ctx.Err(), "TLS handshake: the server, which may not use TLS, or a function of Opts.TLSConfig took too long")
	case err != nil:
		return nil, ErrDial.Wrap(err, "TLS handshake")
	case refused != nil:
		return nil, tlsError(refused)
	}
	return sock.Wrap(secured), nil
}

// Ask returns the current credentials. Each handshake and Reauthenticate call it.
func (d *Dialer) Ask(ctx context.Context) (Credentials, *errorx.Error) {
	if d.Provider == nil {
		return d.Credentials, nil
	}
	p, err := callUntil(ctx, &d.overdue, "Opts.CredentialsProvider", func() provided { return d.provide(ctx) }, func(provided) {})
	if err != nil {
		return Credentials{}, ErrCredentials.Wrap(err, "asking for credentials").WithProperty(EKCredentialsCause, err)
	}
	if p.err != nil { // the text of the error may show a secret
		return Credentials{}, ErrCredentials.New("Opts.CredentialsProvider failed with %T", p.err).
			WithProperty(EKCredentialsCause, p.err)
	}
	return p.cr, nil
}

// Renew does RESET and the whole handshake again on a socket. It counts the handshake as begun
// before it calls credentials: see handshakes. It reports whether the handshake has succeeded
// within Timeout and before ctx ended. If it returns false, the socket can't be used any more.
func (d *Dialer) Renew(ctx context.Context, s *Socket, credentials func() Credentials) bool {
	s.Allow(0, 0) // from now on, the time limit of the handshake applies
	ctx, cancel := context.WithTimeout(ctx, d.Timeout)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = s.Close() })
	defer d.Begin()()
	s.Credentials = credentials()
	err := s.greet(d.Timeout, append([]Step{reset}, d.steps(s, opening{pings: d.Integrity})...))
	return stop() && err == nil
}

// Config tells where to dial, and what to tell the server. Fields without a comment are those of
// redisconn.Opts.
type Config struct {
	Address   Address
	Dialer    func(ctx context.Context, network, addr string) (net.Conn, error)
	KeepAlive time.Duration
	Timeout   time.Duration // bounds dialing and the handshake together
	TLS       bool
	TLSConfig *tls.Config
	Limits    redis.Limits

	// Provider, if not nil, returns the credentials for each socket. Otherwise they are
	// Credentials.
	Provider     func(ctx context.Context) (Credentials, error)
	Credentials  Credentials
	Protocol, DB int
	ReadOnly     bool
	Role         Role
	// Members, if not nil, returns the IDs of known nodes. The server must have one of them. If
	// Members returns none, any server is accepted.
	Members   func() map[string]bool
	Integrity bool
	// Tracking makes the server report changes of the keys that are read on the socket.
	Tracking     bool
	ClientName   string
	NoClientInfo bool

	// Panicked is called if a user's function panics.
	Panicked func(v any, stack []byte)
}

// overdueMost bounds the calls of users' functions that continue although nobody waits for them any
// more: a function that never returns must not cost a goroutine for each attempt to connect. A
// function that respects its context is not overdue for long.
const overdueMost = 16

// overdue counts the overdue calls of a Dialer. Each runs in its own goroutine, which ends when the
// function returns. If the function has returned a connection, the goroutine closes the connection.
type overdue struct {
	calls    atomic.Int32
	panicked func(v any, stack []byte)
}

// callUntil calls f, a user's function, and waits for it until ctx is done. name is for the error.
// f may also panic, or end its goroutine. If f returns later, its value is passed to late.
func callUntil[T any](ctx context.Context, o *overdue, name string, f func() T, late func(T)) (v T, err error) {
	if n := o.calls.Load(); n >= overdueMost {
		return v, fmt.Errorf("%d calls of functions such as %s have not returned", n, name)
	}
	var over atomic.Bool // set when f has ended, or when nobody waits for f any more
	v, returned := lifetime.CallUserUntil(ctx, func() T {
		defer func() {
			if over.Swap(true) {
				o.calls.Add(-1)
			}
		}()
		return f()
	}, late, o.panicked)
	switch {
	case returned:
		return v, nil
	case !over.Swap(true):
		o.calls.Add(1)
	case ctx.Err() == nil:
		return v, fmt.Errorf("a call of %s did not return", name)
	}
	return v, fmt.Errorf("%s did not return in time: %w", name, ctx.Err())
}
