package redisconn_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/lab/drill"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/testbed"
)

// requireHopeless requires that err contains says, that the request did not run, and that a retry
// can't help.
func requireHopeless(t *testing.T, err error, says string) {
	t.Helper()
	require.ErrorContains(t, err, says)
	require.Contains(t, []redis.Outcome{redis.OutcomeNotSent, redis.OutcomeRefused}, redis.OutcomeOf(err))
	require.False(t, redis.SafeToRetry(err), "%v", err)
}

// everyRequest sends a request in each way that a connection offers, and returns the errors by way.
func everyRequest(t *testing.T, conn *redisconn.Connection, cmd string, args ...any) (errs map[string]error) {
	t.Helper()
	s := redis.SyncCtx{S: conn}
	req := redis.Req(cmd, args...)
	_, whole := s.SendTransaction(background, []redis.Request{req})
	_, watched := redis.Watch(background, conn, []string{"a"}, func(tx *redis.Tx) error {
		tx.Queue(cmd, args...)
		return nil
	})
	return map[string]error{
		"request":     redis.Err(s.Do(background, cmd, args...)),
		"batch":       redis.Err(s.SendMany(background, []redis.Request{req, req})[1]),
		"transaction": whole,
		"watch":       watched,
		"session": redis.WithSession(background, conn, "", func(s *redis.Session) error {
			return redis.Err(s.Do(cmd, args...))
		}),
		"stream": redis.Err(conn.DoStream(background, nil, cmd, args...)),
	}
}

// If the server permanently refuses the connection, every request's error says so, and says that a
// retry can't help.
func TestRetryIsOfNoUseWhileRefused(t *testing.T) {
	t.Parallel()
	good := testbed.NewServer(t, testbed.Options{Password: canary, TLS: true})
	changed := testbed.NewServer(t, testbed.Options{Password: canary + "!"})
	small := testbed.NewServer(t, testbed.Options{Password: canary, Config: []string{"databases 1"}})
	other := testbed.NewServer(t, testbed.Options{Password: canary, TLS: true})
	web := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(web.Close)
	trusting, err := good.ClientTLS()
	require.NoError(t, err)
	for name, c := range map[string]struct {
		good, bad string
		tls       bool
	}{
		"password":    {good.Addr(), changed.Addr(), false},
		"database":    {good.Addr(), small.Addr(), false},
		"web":         {good.Addr(), web.Listener.Addr().String(), false},
		"certificate": {good.TLSAddr(), other.TLSAddr(), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var at atomic.Value // the server to which the address leads
			at.Store(c.good)
			opts := redisconn.Opts{
				Password: canary, DB: 5, IOTimeout: patience, TLSEnabled: c.tls, TLSConfig: trusting, Logger: redisconn.NoopLogger{},
				Dialer: func(ctx context.Context, network, _ string) (net.Conn, error) {
					return new(net.Dialer).DialContext(ctx, network, at.Load().(string))
				},
			}
			conn := connect(t, c.good, opts)
			at.Store(c.bad)
			_, err := redisconn.Connect(background, c.good, opts)
			requireHopeless(t, err, "")
			requireHopeless(t, redis.Err(redis.Sync{S: conn}.Do("BLPOP", "a", 1)), "")
			requireHopeless(t, redis.WithSession(background, conn, "", func(*redis.Session) error { return nil }), "")

			redis.Sync{S: conn}.Do("CLIENT KILL", "SKIPME", "no", "ADDR", conn.LocalAddr())
			eventually(t, "the refusal", func() bool {
				err := redis.Err(redis.Sync{S: conn}.Do("SET", "a", 1))
				return redis.AsErrorx(err).IsOfType(redisconn.ErrNotConnected) && !redis.SafeToRetry(err)
			})
			for way, err := range everyRequest(t, conn, "SET", "a", "1") {
				require.Error(t, err, way)
				requireHopeless(t, err, "")
			}
		})
	}
}

// A replica refuses every kind of write, as long as the connection stays with the replica.
func TestRetryIsOfNoUseOnAReplica(t *testing.T) {
	t.Parallel()
	master, replica := testbed.NewServer(t), testbed.NewServer(t)
	host, port, err := net.SplitHostPort(master.Addr())
	require.NoError(t, err)
	require.NoError(t, redis.Err(replica.Do("REPLICAOF", host, port)))
	conn := connect(t, replica.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}})
	eventually(t, "a replica", func() bool {
		return redis.Err(redis.Sync{S: conn}.Do("SET", "a", 1)) != nil
	})
	for way, err := range everyRequest(t, conn, "SET", "a", "1") {
		require.Error(t, err, way)
		requireHopeless(t, err, "READONLY You can't write against a read only replica")
		require.ErrorContains(t, err, "redis-sentinel://")
	}
	err = redis.Err(redis.Sync{S: conn}.Do("BLPOP", "a", 1))
	requireHopeless(t, err, "READONLY")
	text, _ := redis.AsErrorx(err).Property(redis.EKText)
	require.Equal(t, "READONLY You can't write against a read only replica.", text)
}

// A connection to one cluster node refuses requests for other nodes' slots. The error says that a
// retry can't help.
func TestRetryIsOfNoUseOnOneNode(t *testing.T) {
	drill.Rotate(t)
	t.Parallel()
	cluster := testbed.NewCluster(t)
	slot, err := cluster.Slot("a")
	require.NoError(t, err)
	other := cluster.Node((slot/(1<<14/3) + 1) % 3)
	conn := connect(t, other.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}})
	for way, err := range everyRequest(t, conn, "SET", "a", "1") {
		require.Error(t, err, way)
		requireHopeless(t, err, "MOVED")
		require.ErrorContains(t, err, "redis-cluster://", way)
	}
}

// If a limit or option causes an error, the error names it.
func TestErrorsNameTheOption(t *testing.T) {
	t.Parallel()
	s := testbed.NewServer(t, testbed.Options{Config: []string{"proto-max-bulk-len 1mb"}})
	conn := connect(t, s.Addr(), redisconn.Opts{DedicatedConns: 1, MaxRequests: 1, IOTimeout: time.Minute, Logger: redisconn.NoopLogger{}})
	c := redis.SyncCtx{S: conn}
	// On a busy machine the context may end before the call waits. Then waits calls again.
	waits := func(says string, call func(ctx context.Context) error) {
		t.Helper()
		eventually(t, says, func() bool {
			ctx, cancel := context.WithTimeout(background, 50*time.Millisecond)
			defer cancel()
			err := call(ctx)
			require.ErrorIs(t, err, redis.ErrNotSent)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			return strings.Contains(err.Error(), says)
		})
	}
	require.NoError(t, redis.WithSession(background, conn, "", func(*redis.Session) error {
		const says = "all 1 dedicated connections (Opts.DedicatedConns) are in use"
		waits(says, func(ctx context.Context) error { return redis.Err(c.Do(ctx, "BLPOP", "k", 0)) })
		waits(says, func(ctx context.Context) error {
			return redis.WithSession(ctx, conn, "", func(*redis.Session) error { return nil })
		})
		return nil
	}))

	for cmd, says := range map[string]string{
		"GET some key": `as in Do(ctx, "GET", key)`,
		"":             `as in Do(ctx, "GET", key)`,
	} {
		require.ErrorContains(t, redis.Err(c.Do(background, cmd)), says)
	}
	for script, says := range map[string]string{
		"return nothing.here":                "nonexistent global variable 'nothing'",
		"local x = nil return x.y":           "attempt to index local 'x' (a nil value)",
		"return redis.call('GET', 'a'":       "')' expected near '<eof>'",
		"error('no stock of ' .. KEYS[1])":   "no stock of milk",
		"return redis.error_reply('MINE a')": "MINE a",
	} {
		require.ErrorContains(t, redis.Err(c.Do(background, "EVAL", script, 1, "milk")), says)
	}

	eventually(t, "the sessions are closed", func() bool { return conn.Pending() == 0 })
	require.NoError(t, s.Pause())
	first := make(chan any, 1)
	go func() { first <- c.Do(background, "GET", "k") }()
	eventually(t, "a request in flight", func() bool { return conn.Pending() == 1 })
	waits("1 requests are not answered yet, and Opts.MaxRequests is 1: withdrawn before it was sent",
		func(ctx context.Context) error { return redis.Err(c.Do(ctx, "GET", "k")) })
	eventually(t, "a handshake that is not answered", func() bool { // repeated, because on a busy machine dialing alone may take as long
		_, err := redisconn.Connect(background, s.Addr(), redisconn.Opts{IOTimeout: 50 * time.Millisecond, ReconnectPause: -1, Logger: redisconn.NoopLogger{}})
		require.Error(t, err)
		return strings.Contains(err.Error(), "the server has not answered: it may be busy")
	})
	require.NoError(t, s.Resume())
	require.NoError(t, redis.Err(<-first))

	// The server closes the connection, and its error may be lost.
	eventually(t, "the server's error", func() bool {
		err := redis.Err(c.Do(background, "SET", "k", strings.Repeat("x", 1<<20+1)))
		require.Error(t, err)
		return strings.Contains(err.Error(), "ERR Protocol error: invalid bulk length: an argument is longer than the server's proto-max-bulk-len")
	})
}
