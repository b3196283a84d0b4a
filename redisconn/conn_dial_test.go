package redisconn_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/lab/virtualtime"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest/chaos"
	"github.com/joomcode/redispipe/testbed"
)

func TestBadAddresses(t *testing.T) {
	_, err := redisconn.Connect(background, "", redisconn.Opts{})
	requireType(t, err, redis.ErrNoAddressProvided)
	for _, addr := range []string{
		"host", "host:", "host:0", "host:65536", "host:-1", "host:port", "host: 1", "ho st:1", "host\n:1",
		"tcp://", "tcp://host", "unix://", "unix://\x00", "/a\x00b", "redis://host:1", "://", "://host:1",
		"::1:6379", "[::1]", "[::1", "[]:x", "host:1:2", "\x00", "\x7f:1", strings.Repeat("a", 1000), "host:99999999999999999999",
	} {
		conn, err := redisconn.Connect(background, addr, redisconn.Opts{Logger: redisconn.NoopLogger{}})
		require.Nil(t, conn, "%q", addr)
		e := requireType(t, err, redisconn.ErrAddress, addr)
		require.True(t, e.HasTrait(redisconn.ErrTraitInitPermanent))
	}
	// These addresses could be valid, but no server has them.
	for _, addr := range []string{"user:secret@:1", "/no/such/socket", strings.Repeat("a", 300) + ":1"} {
		conn, err := redisconn.Connect(background, addr, redisconn.Opts{Logger: redisconn.NoopLogger{}, ReconnectPause: -1})
		require.Nil(t, conn, "%q", addr)
		require.Error(t, err)
	}
}

func TestConnectWithoutContext(t *testing.T) {
	//lint:ignore SA1012 that is what is tested
	_, err := redisconn.Connect(nil, "host:1", redisconn.Opts{}) //nolint:staticcheck // that is what is tested
	requireType(t, err, redis.ErrContextIsNil)
}

func TestUnixSocket(t *testing.T) {
	s := testbed.NewServer(t, testbed.Options{Unix: true})
	for _, addr := range []string{s.UnixPath(), "unix://" + s.UnixPath()} {
		conn := connect(t, addr, redisconn.Opts{Logger: redisconn.NoopLogger{}})
		require.NoError(t, conn.Ping())
		require.Equal(t, addr, conn.Addr())
		require.Equal(t, s.UnixPath(), conn.RemoteAddr())
	}
	dir, err := os.Getwd()
	require.NoError(t, err)
	if relative, err := filepath.Rel(dir, s.UnixPath()); err == nil {
		require.NoError(t, connect(t, relative, redisconn.Opts{Logger: redisconn.NoopLogger{}}).Ping())
	}
}

func TestTLS(t *testing.T) {
	t.Parallel()
	testbed.Needs(t, testbed.TLS)
	ca, err := testbed.NewCA()
	require.NoError(t, err)
	s := testbed.NewServer(t, testbed.Options{
		TLS: true, CA: ca, ACL: []string{"alice on >" + canary + " ~* &* +@all"},
	})
	trusting := &tls.Config{RootCAs: ca.Pool()}
	t.Run("good", func(t *testing.T) {
		conn := connect(t, s.TLSAddr(), redisconn.Opts{TLSEnabled: true, TLSConfig: trusting, Logger: redisconn.NoopLogger{}})
		sync := redis.Sync{S: conn}
		value := strings.Repeat("v", 3<<20)
		require.Equal(t, "OK", sync.Do("SET", "a", value))
		require.True(t, value == string(sync.Do("GET", "a").([]byte)))
		require.Empty(t, trusting.ServerName, "the user's configuration is changed")
	})
	t.Run("ACL user and DB", func(t *testing.T) {
		conn := connect(t, s.TLSAddr(), redisconn.Opts{
			TLSEnabled: true, TLSConfig: trusting, Username: "alice", Password: canary, DB: 2, Logger: redisconn.NoopLogger{},
		})
		require.Equal(t, []byte("alice"), redis.Sync{S: conn}.Do("ACL WHOAMI"))
	})
	t.Run("verification turned off", func(t *testing.T) {
		conn := connect(t, s.TLSAddr(), redisconn.Opts{
			TLSEnabled: true, TLSConfig: &tls.Config{InsecureSkipVerify: true}, Logger: redisconn.NoopLogger{},
		})
		require.NoError(t, conn.Ping())
	})
	t.Run("system's authorities", func(t *testing.T) {
		refused(t, s.TLSAddr(), redisconn.Opts{TLSEnabled: true}, redisconn.ErrTLS)
	})
	t.Run("other ServerName", func(t *testing.T) {
		config := &tls.Config{RootCAs: ca.Pool(), ServerName: "elsewhere.example"}
		refused(t, s.TLSAddr(), redisconn.Opts{TLSEnabled: true, TLSConfig: config}, redisconn.ErrTLS)
	})
	t.Run("plain server", func(t *testing.T) {
		log := &recorder{}
		_, err := redisconn.Connect(background, s.Addr(), redisconn.Opts{TLSEnabled: true, TLSConfig: trusting, Logger: log, ReconnectPause: -1})
		require.Error(t, err)
	})
	t.Run("plain client", func(t *testing.T) {
		_, err := redisconn.Connect(background, s.TLSAddr(), redisconn.Opts{IOTimeout: time.Minute, Logger: redisconn.NoopLogger{}, ReconnectPause: -1})
		require.ErrorContains(t, err, "or expect TLS")
	})
	t.Run("unix socket without a name", func(t *testing.T) {
		unix := testbed.NewServer(t, testbed.Options{Unix: true})
		refused(t, unix.UnixPath(), redisconn.Opts{TLSEnabled: true, TLSConfig: trusting}, redisconn.ErrTLS)
	})
}

func TestBadCertificates(t *testing.T) {
	ca, err := testbed.NewCA()
	require.NoError(t, err)
	for name, issue := range map[string]func() (tls.Certificate, error){
		"expired":         ca.Expired,
		"not yet valid":   ca.NotYetValid,
		"wrong host":      ca.WrongHost,
		"other authority": ca.UnknownCA,
	} {
		t.Run(name, func(t *testing.T) {
			cert, err := issue()
			require.NoError(t, err)
			s := chaos.NewScripted(t, chaos.ScriptedOpts{TLS: &tls.Config{Certificates: []tls.Certificate{cert}}})
			refused(t, s.Addr(), redisconn.Opts{
				TLSEnabled: true, TLSConfig: &tls.Config{RootCAs: ca.Pool()}, Password: canary,
			}, redisconn.ErrTLS)
			require.Empty(t, s.Requests(), "nothing may be said to it")
		})
	}
}

func TestClientCertificates(t *testing.T) {
	testbed.Needs(t, testbed.TLS)
	ca, err := testbed.NewCA()
	require.NoError(t, err)
	s := testbed.NewServer(t, testbed.Options{TLS: true, CA: ca, ClientCerts: true})
	config, err := s.ClientTLS()
	require.NoError(t, err)
	conn := connect(t, s.TLSAddr(), redisconn.Opts{TLSEnabled: true, TLSConfig: config, Logger: redisconn.NoopLogger{}})
	require.NoError(t, conn.Ping())

	none := redisconn.Opts{TLSEnabled: true, TLSConfig: &tls.Config{RootCAs: ca.Pool(), MaxVersion: tls.VersionTLS12}}
	t.Run("none, TLS 1.2", func(t *testing.T) { refused(t, s.TLSAddr(), none, redisconn.ErrTLS) })
	t.Run("none, TLS 1.3", func(t *testing.T) {
		none := redisconn.Opts{TLSEnabled: true, TLSConfig: &tls.Config{RootCAs: ca.Pool()}, IOTimeout: patience, ReconnectPause: -1, Logger: redisconn.NoopLogger{}}
		// The server has often reset the connection before the client writes its handshake. The
		// client must still report the server's alert.
		for range 30 {
			_, err := redisconn.Connect(background, s.TLSAddr(), none)
			require.Error(t, err)
			require.True(t, redis.AsErrorx(err).IsOfType(redisconn.ErrTLS), "%v", err)
		}
	})
}

// If a server stalls the TLS handshake, Connect and Close still return.
func TestTLSStall(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	opts := redisconn.Opts{TLSEnabled: true, TLSConfig: &tls.Config{RootCAs: x509.NewCertPool()}, Logger: redisconn.NoopLogger{}}
	opts.DialTimeout = 50 * time.Millisecond
	opts.ReconnectPause = -1
	_, err = redisconn.Connect(background, l.Addr().String(), opts)
	requireNotSent(t, err, redisconn.ErrDial)

	opts.DialTimeout, opts.IOTimeout, opts.ReconnectPause, opts.AsyncDial = time.Minute, time.Minute, 0, true
	log := &recorder{}
	opts.Logger = log
	conn, err := redisconn.Connect(background, l.Addr().String(), opts)
	require.NoError(t, err)
	queued := sendTo(conn, "GET", "a")
	conn.Close()
	requireNotSent(t, queued.Wait(t), redis.ErrContextClosed)
	eventually(t, "the end", func() bool { return log.Count("ContextClosed") == 1 })
}

// If the server does not answer the handshake, the error says that the handshake took too long.
func TestHandshakeStall(t *testing.T) {
	virtualtime.Run(t, func(t *testing.T) {
		p := &pipes{Answer: func([]string) string { return "" }}
		_, err := redisconn.Connect(background, "pipe:1", redisconn.Opts{
			DialTimeout: 100 * time.Millisecond, ReconnectPause: -1, Logger: redisconn.NoopLogger{},
			Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
				time.Sleep(50 * time.Millisecond) // together with dialing this exceeds DialTimeout; the handshake alone does not
				return p.Dial(ctx, network, addr)
			},
		})
		requireNotSent(t, err, redisconn.ErrConnSetup)
		var failure net.Error
		require.True(t, errors.As(redis.Err(err), &failure) && failure.Timeout(), "%v", err)
		synctest.Wait()
	})
}

// If a context caused an error, the error names this cause once, no matter which context it was.
func TestContextIsOneCause(t *testing.T) {
	virtualtime.Run(t, func(t *testing.T) {
		for name, opts := range map[string]redisconn.Opts{
			"TLS": {TLSEnabled: true},
			"credentials": {CredentialsProvider: func(ctx context.Context) (cr redisconn.Credentials, err error) {
				<-ctx.Done()
				time.Sleep(10 * time.Millisecond) // nobody waits for it any more
				return cr, nil
			}},
		} {
			opts.ReconnectPause, opts.Logger = -1, redisconn.NoopLogger{}
			opts.Dialer = func(context.Context, string, string) (net.Conn, error) {
				client, server := net.Pipe()
				go func() { _, _ = io.Copy(io.Discard, server) }() // ends with the pipe
				return client, nil
			}
			ctx, cancel := context.WithTimeout(background, 50*time.Millisecond)
			defer cancel()
			_, ofGiven := redisconn.Connect(ctx, "pipe:1", opts)
			opts.DialTimeout = 50 * time.Millisecond
			_, ofDialing := redisconn.Connect(background, "pipe:1", opts)
			for _, err := range []error{ofGiven, ofDialing} {
				require.ErrorIs(t, redis.Err(err), context.DeadlineExceeded, name)
				require.Equal(t, 1, strings.Count(err.Error(), context.DeadlineExceeded.Error()), "%s: %v", name, err)
			}
		}
		time.Sleep(time.Second) // by then all goroutines must have ended
	})
}

// A connection ends even if its server no longer reads and its transport has no deadlines. There
// the last write would block for ever.
func TestTLSCloseWithoutRoom(t *testing.T) {
	ca, err := testbed.NewCA()
	require.NoError(t, err)
	cert, err := ca.Server()
	require.NoError(t, err)
	s := chaos.NewScripted(t, chaos.ScriptedOpts{TLS: &tls.Config{Certificates: []tls.Certificate{cert}}})
	trusting := &tls.Config{RootCAs: ca.Pool(), ServerName: "127.0.0.1"}
	for name, own := range map[string]bool{"TLSEnabled": false, "the Dialer's": true} {
		t.Run(name, func(t *testing.T) {
			var socket *stuckWriter
			log := &recorder{}
			conn := connect(t, s.Addr(), redisconn.Opts{
				TLSEnabled: !own, TLSConfig: trusting, IOTimeout: time.Minute, Logger: log,
				Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
					tcp, err := (&net.Dialer{}).DialContext(ctx, network, addr)
					socket = &stuckWriter{Conn: tcp, ended: make(chan struct{})}
					if own {
						return tls.Client(socket, trusting), err
					}
					return socket, err
				},
			})
			require.Equal(t, "OK", redis.Sync{S: conn}.Do("GET", "key"))
			socket.stuck.Store(true)
			conn.Close()
			eventually(t, "the end", func() bool { return log.Count("ContextClosed") == 1 })
			requireNoneLeft(t)
		})
	}
}

// stuckWriter is a transport without deadlines. Once it is stuck, it takes no more bytes.
type stuckWriter struct {
	net.Conn
	stuck atomic.Bool
	once  sync.Once
	ended chan struct{}
}

func (s *stuckWriter) Write(p []byte) (int, error) {
	if s.stuck.Load() {
		<-s.ended
	}
	return s.Conn.Write(p)
}

func (s *stuckWriter) Close() error {
	s.once.Do(func() { close(s.ended) })
	return s.Conn.Close()
}

func (*stuckWriter) SetDeadline(time.Time) error      { return nil }
func (*stuckWriter) SetWriteDeadline(time.Time) error { return nil }

func TestConnectionRefused(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	addr := l.Addr().String()
	require.NoError(t, l.Close())
	_, err = redisconn.Connect(background, addr, redisconn.Opts{ReconnectPause: -1, Logger: redisconn.NoopLogger{}})
	e := requireNotSent(t, err, redisconn.ErrDial)
	require.True(t, e.HasTrait(redis.ErrTraitConnectivity))
	require.False(t, e.HasTrait(redisconn.ErrTraitInitPermanent))

	// The request is sent between two attempts to connect. During an attempt it would get the error
	// of that attempt.
	conn, err := redisconn.Connect(background, addr, redisconn.Opts{ReconnectPause: time.Hour, Logger: redisconn.NoopLogger{}})
	require.NoError(t, err, "it goes on dialing")
	defer conn.Close()
	e = requireNotSent(t, sendTo(conn, "GET", "a").Wait(t), redisconn.ErrNotConnected)
	requireType(t, e.Cause(), redisconn.ErrDial)
}

// If its context ends, Connect returns an error that contains the context's cause, no matter what
// Connect was waiting for.
func TestConnectSaysWhyItsContextEnded(t *testing.T) {
	for name, opts := range map[string]redisconn.Opts{"TLS": {TLSEnabled: true}, "handshake": {}} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer listener.Close()
		ctx, cancel := context.WithCancelCause(background)
		cause := errors.New("no longer needed")
		go func() {
			conn, err := listener.Accept()
			if err == nil {
				defer conn.Close()
				_, _ = conn.Read(make([]byte, 1))
				cancel(cause)
				_, _ = io.Copy(io.Discard, conn)
			}
		}()
		opts.IOTimeout, opts.Logger = time.Minute, redisconn.NoopLogger{}
		_, err = redisconn.Connect(ctx, listener.Addr().String(), opts)
		require.ErrorIs(t, err, context.Canceled, name)
		require.ErrorIs(t, err, cause, name)
		require.ErrorIs(t, err, redis.ErrNotSent, name)
	}
}
