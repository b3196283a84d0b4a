package redisconn_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/lab/virtualtime"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/testbed"
)

// overdue returns options with a function that returns after an hour, even if its context has
// ended.
func overdue(p *pipes) map[string]redisconn.Opts {
	late := func() { time.Sleep(time.Hour) }
	return map[string]redisconn.Opts{
		"Dialer": {Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
			late()
			return p.Dial(ctx, network, addr)
		}},
		"CredentialsProvider": {Dialer: p.Dial, CredentialsProvider: func(context.Context) (redisconn.Credentials, error) {
			late()
			return redisconn.Credentials{Password: canary}, nil
		}},
	}
}

// The client does not wait for a Dialer or CredentialsProvider that ignores its context. If the
// Dialer returns a connection later, the client closes it.
func TestOverdueIsNotWaitedFor(t *testing.T) {
	for name := range overdue(&pipes{}) {
		t.Run(name, func(t *testing.T) {
			virtualtime.Run(t, func(t *testing.T) {
				p := &pipes{}
				opts := overdue(p)[name]
				opts.Logger, opts.DialTimeout, opts.ReconnectPause = redisconn.NoopLogger{}, 200*time.Millisecond, -1
				began := time.Now()
				_, err := redisconn.Connect(t.Context(), "pipe:1", opts)
				require.Equal(t, opts.DialTimeout, time.Since(began))
				require.True(t, redis.CausedBy(err, context.DeadlineExceeded), "%v", err)
				requireSecret(t, err)

				log := &recorder{}
				opts.Logger, opts.AsyncDial, opts.DialTimeout, opts.IOTimeout = log, true, time.Minute, time.Minute
				conn, err := redisconn.Connect(t.Context(), "pipe:1", opts)
				require.NoError(t, err)
				synctest.Wait()
				began = time.Now()
				queued := sendTo(conn, "GET", "a")
				conn.Close()
				requireNotSent(t, queued.Wait(t), redis.ErrContextClosed)
				synctest.Wait()
				require.Zero(t, time.Since(began))
				require.Equal(t, 1, log.Count("ContextClosed"))

				time.Sleep(2 * time.Hour)
				synctest.Wait() // the test fails if the server's end of a pipe is open, or a goroutine is left
			})
		})
	}
}

// Close also ends the dialing of additional sockets.
func TestCloseWhileDialingBeside(t *testing.T) {
	for name, use := range map[string]func(*redisconn.Connection) error{
		"stream": func(conn *redisconn.Connection) error { return redis.AsError(conn.DoStream(background, nil, "PING")) },
		"push": func(conn *redisconn.Connection) error {
			_, err := conn.OpenPush(background)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			virtualtime.Run(t, func(t *testing.T) {
				p, first := &pipes{}, true
				conn, err := redisconn.Connect(t.Context(), "pipe:1", redisconn.Opts{
					Logger: redisconn.NoopLogger{}, NoClientInfo: true,
					Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
						if first {
							first = false
							return p.Dial(ctx, network, addr)
						}
						return stuck(ctx, network, addr)
					},
				})
				require.NoError(t, err)
				began := time.Now()
				ended := make(chan error, 1)
				go func() { ended <- use(conn) }()
				synctest.Wait()
				conn.Close()
				require.Error(t, <-ended)
				require.Zero(t, time.Since(began))
				time.Sleep(time.Minute)
			})
		})
	}
}

// A function that never returns costs a bounded number of goroutines, not one for each attempt.
func TestOverdueIsBounded(t *testing.T) {
	for name := range overdue(&pipes{}) {
		t.Run(name, func(t *testing.T) {
			virtualtime.Run(t, func(t *testing.T) {
				opts := overdue(&pipes{})[name]
				var calls atomic.Int32
				if dial := opts.Dialer; name == "Dialer" {
					opts.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
						calls.Add(1)
						return dial(ctx, network, addr)
					}
				}
				if provide := opts.CredentialsProvider; provide != nil {
					opts.CredentialsProvider = func(ctx context.Context) (redisconn.Credentials, error) {
						calls.Add(1)
						return provide(ctx)
					}
				}
				opts.Logger, opts.AsyncDial = redisconn.NoopLogger{}, true
				opts.DialTimeout, opts.ReconnectPause = time.Millisecond, time.Second
				conn, err := redisconn.Connect(t.Context(), "pipe:1", opts)
				require.NoError(t, err)
				time.Sleep(time.Minute)
				require.LessOrEqual(t, calls.Load(), int32(16))
				time.Sleep(time.Hour)
				require.Greater(t, calls.Load(), int32(16), "those that have returned make room")
				conn.Close()
				time.Sleep(2 * time.Hour)
			})
		})
	}
}

// A function in Opts.TLSConfig gets no context that could end it. The client does not wait for it
// either.
func TestOverdueTLSFunction(t *testing.T) {
	virtualtime.Run(t, func(t *testing.T) {
		ca, err := testbed.NewCA()
		require.NoError(t, err)
		cert, err := ca.Server()
		require.NoError(t, err)
		const timeout = 50 * time.Millisecond
		var called atomic.Bool
		began := time.Now()
		_, err = redisconn.Connect(t.Context(), "127.0.0.1:1", redisconn.Opts{
			Logger: redisconn.NoopLogger{}, DialTimeout: timeout, ReconnectPause: -1, TLSEnabled: true,
			Dialer: func(context.Context, string, string) (net.Conn, error) {
				client, server := net.Pipe()
				go func() {
					defer server.Close()
					_ = tls.Server(server, &tls.Config{Certificates: []tls.Certificate{cert}}).Handshake()
				}()
				return client, nil
			},
			TLSConfig: &tls.Config{RootCAs: ca.Pool(), VerifyPeerCertificate: func([][]byte, [][]*x509.Certificate) error {
				called.Store(true)
				time.Sleep(time.Hour)
				return nil
			}},
		})
		require.True(t, called.Load())
		require.Equal(t, timeout, time.Since(began))
		requireNotSent(t, err, redisconn.ErrDial)
		require.ErrorContains(t, err, "the server, which may not use TLS")
		time.Sleep(2 * time.Hour) // the test fails if a goroutine is left
	})
}
