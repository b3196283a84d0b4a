package redisconn_test

import (
	"context"
	"crypto/tls"
	"io"
	"log"
	"net"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/conntest"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/testbed"
)

// notReturning has the ways in which a function fails to return.
var notReturning = map[string]func(){
	"panic": func() { panic("on purpose") },
	"exit":  runtime.Goexit,
}

// If a user's function does not return, that costs one attempt to connect.
func TestAttemptsOutliveUsersFunctions(t *testing.T) {
	testbed.Needs(t, testbed.TLS)
	s := testbed.NewServer(t, testbed.Options{TLS: true})
	config, err := s.ClientTLS()
	require.NoError(t, err)
	for what, c := range map[string]struct {
		// with returns options with a function that calls f in each attempt to connect.
		with func(f func()) redisconn.Opts
		want string
	}{
		"Dialer": {func(f func()) redisconn.Opts {
			return redisconn.Opts{Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
				f()
				return (&net.Dialer{}).DialContext(ctx, network, addr)
			}}
		}, "Opts.Dialer did not return"},
		"CredentialsProvider": {func(f func()) redisconn.Opts {
			return redisconn.Opts{CredentialsProvider: func(context.Context) (redisconn.Credentials, error) {
				f()
				return redisconn.Credentials{}, nil
			}}
		}, "Opts.CredentialsProvider did not return"},
		"TLSConfig": {func(f func()) redisconn.Opts {
			verified := config.Clone()
			verified.VerifyConnection = func(tls.ConnectionState) error {
				f()
				return nil
			}
			return redisconn.Opts{TLSEnabled: true, TLSConfig: verified}
		}, "a function of Opts.TLSConfig did not return"},
	} {
		for way, end := range notReturning {
			t.Run(what+"/"+way, func(t *testing.T) {
				var calls atomic.Int64
				opts := c.with(func() {
					if calls.Add(1) <= 2 {
						end()
					}
				})
				log := &recorder{}
				opts.Logger, opts.ReconnectPause = log, time.Millisecond
				addr := s.Addr()
				if opts.TLSEnabled {
					addr = s.TLSAddr()
				}
				conn := connect(t, addr, opts)
				eventually(t, "another attempt", conn.ConnectedNow)
				require.Equal(t, 2, log.Count("ConnectFailed"))
				failed := conntest.Event[redisconn.LogConnectFailed](log).Error
				require.Equal(t, redis.OutcomeNotSent, redis.OutcomeOf(failed))
				require.ErrorContains(t, failed, c.want)
				require.Equal(t, way == "panic", log.Count("FuturePanic") == 2)
				conn.Close()
				requireNoneLeft(t)
			})
		}
	}
}

// rudeLogger is a logger whose Report does not return.
type rudeLogger struct {
	*recorder
	end func()
}

// Report implements redisconn.Logger.
func (l rudeLogger) Report(conn *redisconn.Connection, event redisconn.LogEvent) {
	l.recorder.Report(conn, event)
	l.end()
}

// A connection works normally even if its logger does not return.
func TestConnectionOutlivesItsLogger(t *testing.T) {
	t.Cleanup(func() { log.SetOutput(os.Stderr) })
	s := testbed.NewServer(t)
	for way, end := range notReturning {
		t.Run(way, func(t *testing.T) {
			var told strings.Builder // the default logger reports the panic here
			log.SetOutput(&told)
			events := &recorder{}
			conn := connect(t, s.Addr(), redisconn.Opts{Logger: rudeLogger{events, end}, ReconnectPause: time.Millisecond})
			require.NoError(t, conn.Ping())
			require.Equal(t, int64(1), s.Do("CLIENT KILL", "ADDR", conn.LocalAddr()))
			eventually(t, "connected again", func() bool { return events.Count("Connected") == 2 })
			require.NoError(t, conn.Ping())
			conn.Close()
			eventually(t, "the end", func() bool { return events.Count("ContextClosed") == 1 })
			requireNoneLeft(t)
			log.SetOutput(io.Discard)
			require.Equal(t, way == "panic", strings.Contains(told.String(), "logger panicked: on purpose"), told.String())
			require.NotContains(t, told.String(), "callback")
		})
	}
}

// If a Dialer returns no connection, the attempt to connect fails, even if the Dialer returns no
// error.
func TestDialerReturnsNothing(t *testing.T) {
	for what, nothing := range map[string]net.Conn{
		"nil": nil, "a nil *net.TCPConn": (*net.TCPConn)(nil), "a nil *tls.Conn": (*tls.Conn)(nil),
	} {
		for _, secured := range []bool{false, true} {
			conn, err := redisconn.Connect(context.Background(), "localhost:1", redisconn.Opts{
				Logger: redisconn.NoopLogger{}, ReconnectPause: -1, TLSEnabled: secured,
				Dialer: func(context.Context, string, string) (net.Conn, error) { return nothing, nil },
			})
			require.Nil(t, conn, what)
			require.True(t, redis.AsErrorx(err).IsOfType(redisconn.ErrDial), "%s: %v", what, err)
			require.ErrorContains(t, err, "Opts.Dialer returned no connection")
			require.Equal(t, redis.OutcomeNotSent, redis.OutcomeOf(err))
		}
	}
}
