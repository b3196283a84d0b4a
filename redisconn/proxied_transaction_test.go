package redisconn_test

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/conntest"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest/chaos"
)

// Behind a proxy, the client sends nothing after EXEC until EXEC is answered.
func TestTransactionsBehindProxies(t *testing.T) {
	t.Parallel()
	conn := connect(t, envoy(t).Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}})
	reqs := []redis.Request{redis.Req("INCR", "a"), redis.Req("INCR", "b")}
	for range 20 {
		got := newOutcome()
		conn.SendTransaction(reqs, got, 0)
		require.Equal(t, []byte("value"), redis.Sync{S: conn}.Do("GET", "k"))
		require.Equal(t, []any{int64(1), int64(1)}, got.Wait(t))
		results, err := redis.SyncCtx{S: conn}.SendTransaction(background, reqs)
		require.NoError(t, err)
		require.Equal(t, []any{int64(1), int64(1)}, results)
	}
	require.Equal(t, []byte("value"), redis.Sync{S: conn}.Do("GET", "k"))

	none := connect(t, envoy(t).Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}, DedicatedConns: -1})
	_, err := redis.SyncCtx{S: none}.SendTransaction(background, reqs)
	require.ErrorContains(t, err, "Opts.DedicatedConns")
	requireNotSent(t, err, redis.ErrSession)
}

// Behind a proxy that accepts WATCH without an effect, the client refuses WATCH.
func TestWatchBehindProxies(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		at, says string // the last request of the probe, and its answer
		refused  string
		probes   int
	}{
		"has an effect":   {"EXEC", "*-1\r\n", "", 1},
		"has none":        {"EXEC", "*1\r\n$-1\r\n", "WATCH has no effect through a proxy", 2},
		"no probe":        {"SET", "-NOPERM no permissions\r\n", "could not write a key", 2},
		"refused":         {"WATCH", "-ERR no WATCH here\r\n", "no WATCH here", 0},
		"closes at WATCH": {"WATCH", "close", "closes the connection at WATCH", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lean := c.says == "close"
			probed := false
			var mu sync.Mutex
			probes := 0
			s := peer(t, func(r chaos.ScriptedRequest) string {
				mu.Lock()
				defer mu.Unlock()
				if r.Cmd == "SET" && strings.HasPrefix(r.Args[0], "redispipe:watch:") {
					probes++
				}
				switch {
				case lean && (r.Cmd == "CLIENT" || r.Cmd == "PING" && len(r.Args) > 0):
					return "close"
				case r.Cmd == "PING":
					return "+PONG\r\n"
				case r.Cmd == c.at && !probed:
					probed = c.refused == ""
					return c.says
				case r.Cmd == "EXEC":
					return "*1\r\n+OK\r\n"
				}
				return ""
			})
			conn := connect(t, s.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}, IOTimeout: patience})
			for range 2 {
				called := false
				_, err := redis.Watch(background, conn, []string{"k"}, func(tx *redis.Tx) error {
					called = true
					tx.Queue("SET", "k", 1)
					return nil
				})
				require.Equal(t, c.refused == "", called)
				if c.refused == "" {
					require.NoError(t, err)
				} else {
					require.ErrorContains(t, err, c.refused)
				}
			}
			mu.Lock()
			defer mu.Unlock()
			require.Equal(t, c.probes, probes)
		})
	}
}

// After EXEC has failed, its connection may still be in the transaction, so it gets no other
// transaction.
func TestFailedTransactionsBehindProxies(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	inside := map[int]bool{} // the connections that are in a transaction
	failed := false
	s := peer(t, func(r chaos.ScriptedRequest) string {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case r.Cmd == "PING":
			return "+PONG\r\n"
		case r.Cmd == "RESET":
			return "-ERR unknown command 'RESET'\r\n"
		case r.Cmd == "MULTI" && inside[r.Conn]:
			return "-ERR MULTI calls can not be nested\r\n"
		case r.Cmd == "MULTI":
			inside[r.Conn] = true
		case r.Cmd == "EXEC" && !failed:
			failed = true
			return "-upstream failure\r\n"
		case r.Cmd == "EXEC":
			inside[r.Conn] = false
			return "*1\r\n:1\r\n"
		case inside[r.Conn]:
			return "+QUEUED\r\n"
		}
		return ""
	})
	conn := connect(t, s.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}, DedicatedConns: 1})
	do, reqs := redis.SyncCtx{S: conn}, []redis.Request{redis.Req("INCR", "a")}
	_, err := do.SendTransaction(background, reqs)
	require.Equal(t, redis.OutcomeUnknown, redis.OutcomeOf(err), "%v", err)
	results, err := do.SendTransaction(background, reqs)
	require.NoError(t, err)
	require.Equal(t, []any{int64(1)}, results)
}

// If a caller leaves while its transaction waits for a connection, the transaction is not sent.
func TestLeftTransactionsBehindProxies(t *testing.T) {
	t.Parallel()
	s, pops := occupied(t, ":1")
	count := func(cmd string) (n int) {
		for _, r := range s.Requests() {
			if r.Cmd == cmd {
				n++
			}
		}
		return n
	}
	conn := connect(t, s.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}, DedicatedConns: 1})
	do, reqs := redis.SyncCtx{S: conn}, []redis.Request{redis.Req("INCR", "a")}
	pop, left := newOutcome(), make(chan error, 1)
	conn.Send(redis.Req("BLPOP", "k", 0), pop, 0)
	eventually(t, "the connection is taken", func() bool { return count("BLPOP") == 1 })
	ctx, cancel := context.WithCancel(background)
	go func() {
		_, err := do.SendTransaction(ctx, reqs)
		left <- err
	}()
	eventually(t, "it waits", func() bool { return conn.Stats().Dedicated.Waiting == 1 })
	cancel()
	require.ErrorIs(t, <-left, context.Canceled)
	pops()
	pop.Wait(t)
	_, err := do.SendTransaction(background, reqs) // waits for the connection of the other transaction
	require.NoError(t, err)
	require.Equal(t, 1, count("MULTI"))
}

// A future that blocks does not keep its connection, and a future that ends its goroutine leaves no
// other request without a result.
func TestRudeFuturesBehindProxies(t *testing.T) {
	t.Parallel()
	conn := connect(t, envoy(t).Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}, DedicatedConns: 1})
	reqs := []redis.Request{redis.Req("INCR", "a"), redis.Req("INCR", "b")}
	held, release := make(chan struct{}), make(chan struct{})
	t.Cleanup(func() { close(release) })
	conn.SendTransaction(reqs, redis.FuncFuture(func(any, uint64) { close(held); <-release }), 0)
	conntest.Await(t, "the future", held)
	got := make(chan uint64, 3)
	conn.SendBatchFlags(reqs, redis.FuncFuture(func(_ any, n uint64) {
		got <- n
		runtime.Goexit()
	}), 0, redisconn.DoTransaction)
	for n := range uint64(3) {
		require.Equal(t, n, conntest.Await(t, "a result", got))
	}
}

// leaving is a future with a context that ends, like a future of a client that fails over.
type leaving struct {
	*outcome
	ctx context.Context
}

func (l leaving) Context() context.Context { return l.ctx }

// A transaction that was sent is answered even if the context of its future ends.
func TestTransactionsBehindProxiesOutliveTheirContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(background)
	var conn atomic.Pointer[redisconn.Connection]
	s := peer(t, func(r chaos.ScriptedRequest) string {
		switch r.Cmd {
		case "PING":
			return "+PONG\r\n"
		case "INCR":
			return "+QUEUED\r\n"
		case "EXEC":
			cancel()
			for range 10 { // gives the client time to notice the end
				redis.Sync{S: conn.Load()}.Do("GET", "k")
			}
			return "*1\r\n:1\r\n"
		}
		return ""
	})
	conn.Store(connect(t, s.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}}))
	got := leaving{newOutcome(), ctx}
	conn.Load().SendTransaction([]redis.Request{redis.Req("INCR", "a")}, got, 0)
	require.Equal(t, []any{int64(1)}, got.Wait(t))
}
