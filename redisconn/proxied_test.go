package redisconn_test

import (
	"context"
	"fmt"
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

// An error that the proxy itself answers does not show whether the request has run.
func TestErrorsOfProxies(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text           string
		direct, behind redis.Outcome
	}{
		{"upstream failure", redis.OutcomeUnknown, redis.OutcomeUnknown},
		{"no upstream host", redis.OutcomeUnknown, redis.OutcomeUnknown},
		{"finished with 1 error(s)", redis.OutcomeUnknown, redis.OutcomeUnknown},
		{"ERR Connection timed out", redis.OutcomeUnknown, redis.OutcomeUnknown},
		{"ERR Connection refused", redis.OutcomeUnknown, redis.OutcomeUnknown},
		{"something of its own", redis.OutcomeRefused, redis.OutcomeUnknown},
		{"Syntax error at offset 3", redis.OutcomeRefused, redis.OutcomeUnknown},
		{"ERR unknown command 'X'", redis.OutcomeRefused, redis.OutcomeRefused},
		{"ERR value is not an integer or out of range", redis.OutcomeRefused, redis.OutcomeRefused},
		{"WRONGTYPE Operation against a key", redis.OutcomeRefused, redis.OutcomeRefused},
		{"OOM command not allowed", redis.OutcomeRefused, redis.OutcomeRefused},
		{"MOVED 1 127.0.0.1:1", redis.OutcomeRefused, redis.OutcomeRefused},
	} {
		for mute, want := range map[bool]redis.Outcome{false: c.direct, true: c.behind} {
			s := peer(t, func(r chaos.ScriptedRequest) string {
				switch {
				case r.Cmd == "INCR":
					return "-" + c.text + "\r\n"
				case r.Cmd == "PING" && mute:
					return "+PONG\r\n"
				}
				return ""
			})
			conn := connect(t, s.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}})
			res := redis.Sync{S: conn}.Do("INCR", "k")
			require.Equal(t, want, redis.OutcomeOf(res), c.text)
			require.ErrorContains(t, redis.AsError(res), c.text)
			require.Equal(t, want == redis.OutcomeUnknown, redis.AsErrorx(res).IsOfType(redis.ErrProxy))
			require.False(t, want == redis.OutcomeUnknown && redis.SafeToRetry(redis.Err(res)))
		}
	}
}

// A proxy's answer to AUTH may quote the password. No error shows it.
func TestProxyAnswersWithThePassword(t *testing.T) {
	t.Parallel()
	s := peer(t, func(r chaos.ScriptedRequest) string {
		switch r.Cmd {
		case "PING":
			return "+PONG\r\n"
		case "AUTH":
			return "-who knows " + r.Args[0] + "\r\n"
		}
		return ""
	})
	v := &vault{}
	conn := connect(t, s.Addr(), redisconn.Opts{CredentialsProvider: v.credentials, Logger: redisconn.NoopLogger{}})
	v.set("", canary, nil)
	requireSecret(t, conn.Reauthenticate(background))
}

// The errors of a proxy are treated alike in the result of a request, in the elements of a
// transaction's result, in statistics and in what loggers get.
func TestErrorsOfProxiesCount(t *testing.T) {
	t.Parallel()
	for _, mute := range []bool{false, true} {
		s := peer(t, func(r chaos.ScriptedRequest) string {
			switch {
			case r.Cmd == "PING" && mute:
				return "+PONG\r\n"
			case r.Cmd == "INCR", r.Cmd == "BLPOP":
				return "-upstream failure\r\n"
			case r.Cmd == "LPUSH":
				return "-WRONGTYPE\r\n"
			case r.Cmd == "EXEC":
				return "*2\r\n-upstream failure\r\n-WRONGTYPE\r\n"
			case r.Cmd == "SET":
				return "+QUEUED\r\n"
			}
			return ""
		})
		log := &judged{}
		conn := connect(t, s.Addr(), redisconn.Opts{Logger: log})
		do := redis.Sync{S: conn}
		do.SendMany([]redis.Request{redis.Req("INCR", "k"), redis.Req("LPUSH", "k", 1), redis.Req("GET", "k"), redis.Req("INCR", "k")})
		stats := conn.Stats()
		require.Equal(t, []uint64{1, 1, 0, 2}, []uint64{stats.Values, stats.Refused, stats.NotSent, stats.Unknown})
		do.Do("BLPOP", "k", 0)
		require.EqualValues(t, 1, conn.Stats().Dedicated.Unknown)
		log.mu.Lock()
		require.Equal(t, []redis.Outcome{redis.OutcomeUnknown, redis.OutcomeRefused, redis.OutcomeValue, redis.OutcomeUnknown, redis.OutcomeUnknown}, log.seen)
		log.mu.Unlock()

		results, err := do.SendTransaction([]redis.Request{redis.Req("SET", "k", 1), redis.Req("SET", "k", 2)})
		require.NoError(t, err)
		require.Equal(t, redis.OutcomeUnknown, redis.OutcomeOf(results[0]))
		require.Equal(t, redis.OutcomeRefused, redis.OutcomeOf(results[1]))
		for _, res := range results {
			at, _ := redis.AsErrorx(res).Property(redis.EKAddress)
			require.Equal(t, s.Addr(), at)
		}
	}
}

// judged is a logger that counts requests by outcome.
type judged struct {
	recorder
	mu   sync.Mutex // guards seen
	seen []redis.Outcome
}

func (j *judged) ReqStat(_ *redisconn.Connection, _ redis.Request, res any, _, _, _ int64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.seen = append(j.seen, redis.OutcomeOf(res))
}

// envoy is a server that answers like Envoy, which treats all requests before the reply to EXEC as
// a part of the transaction.
func envoy(t *testing.T) *chaos.ScriptedServer {
	t.Helper()
	var mu sync.Mutex
	inside := map[int]int{} // by connection, the requests of the open transaction plus one; negative after EXEC
	return peer(t, func(r chaos.ScriptedRequest) string {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case r.Cmd == "PING":
			return "+PONG\r\n"
		case r.Cmd == "RESET":
			return "-ERR unknown command 'RESET'\r\n"
		case r.Cmd == "MULTI":
			inside[r.Conn] = 1
		case r.Cmd == "EXEC":
			n := inside[r.Conn] - 1
			inside[r.Conn] = -1
			return fmt.Sprintf("*%d\r\n", n) + strings.Repeat(":1\r\n", n)
		case inside[r.Conn] > 0:
			inside[r.Conn]++
			return "+QUEUED\r\n"
		case r.Cmd == "GET" && inside[r.Conn] < 0:
			return "$-1\r\n" // the answer of the transaction's server
		case r.Cmd == "GET":
			return bulk("value")
		}
		return ""
	})
}

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
	popped := make(chan struct{})
	s := peer(t, func(r chaos.ScriptedRequest) string {
		switch r.Cmd {
		case "PING":
			return "+PONG\r\n"
		case "BLPOP":
			<-popped
			return "*-1\r\n"
		case "INCR":
			return "+QUEUED\r\n"
		case "EXEC":
			return "*1\r\n:1\r\n"
		}
		return ""
	})
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
	close(popped)
	pop.Wait(t)
	_, err := do.SendTransaction(background, reqs) // waits for the connection of the other transaction
	require.NoError(t, err)
	require.Equal(t, 1, count("MULTI"))
}

// Opts.MaxBytes bounds the size of the requests that wait for a dedicated connection.
func TestBytesThatWaitBehindProxies(t *testing.T) {
	t.Parallel()
	popped := make(chan struct{})
	s := peer(t, func(r chaos.ScriptedRequest) string {
		switch r.Cmd {
		case "PING":
			return "+PONG\r\n"
		case "BLPOP":
			<-popped
			return "*-1\r\n"
		case "SET":
			return "+QUEUED\r\n"
		case "EXEC":
			return "*1\r\n+OK\r\n"
		}
		return ""
	})
	pops := sync.OnceFunc(func() { close(popped) })
	t.Cleanup(pops)
	conn := connect(t, s.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}, DedicatedConns: 1, MaxBytes: 1000})
	pop := sendTo(conn, "BLPOP", "k", 0)
	reqs := []redis.Request{redis.Req("SET", "a", make([]byte, 400))}
	waits := []*outcome{newOutcome(), newOutcome()}
	for _, o := range waits {
		conn.SendTransaction(reqs, o, 0)
	}
	full := newOutcome()
	conn.SendTransaction(reqs, full, 0)
	const says = "all 1 dedicated connections (Opts.DedicatedConns) are in use, 856 bytes wait for one, and Opts.MaxBytes is 1000"
	require.Equal(t, says, requireNotSent(t, full.Wait(t), redis.ErrQueueFull).Message())
	require.Equal(t, says, requireNotSent(t, sendTo(conn, "BLPOP", strings.Repeat("k", 400), 0).Wait(t), redis.ErrQueueFull).Message())
	large := newOutcome()
	conn.SendTransaction([]redis.Request{redis.Req("SET", "a", make([]byte, 1000))}, large, 0)
	requireNotSent(t, large.Wait(t), redis.ErrRequestTooLarge)
	requireNotSent(t, sendTo(conn, "BLPOP", strings.Repeat("k", 1000), 0).Wait(t), redis.ErrRequestTooLarge)
	pops()
	pop.Wait(t)
	for _, o := range waits {
		require.Equal(t, []any{"OK"}, o.Wait(t))
	}
}

// If a proxy closes the connection, the error says so only once, no matter how many layers it
// passes.
func TestProxyCloses(t *testing.T) {
	t.Parallel()
	s := peer(t, func(r chaos.ScriptedRequest) string {
		switch r.Cmd {
		case "PING":
			return "+PONG\r\n"
		case "MULTI", "GET", "BLPOP":
			return "close"
		}
		return ""
	})
	conn := connect(t, s.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}})
	do := redis.Sync{S: conn}
	_, transaction := do.SendTransaction([]redis.Request{redis.Req("INCR", "a")})
	session, err := redis.OpenSession(background, conn, "a")
	require.NoError(t, err)
	defer session.Close()
	for _, res := range []any{transaction, session.Do("GET", "a"), do.Do("BLPOP", "a", 0), do.Do("GET", "a")} {
		require.Equal(t, redis.OutcomeUnknown, redis.OutcomeOf(res))
		require.Equal(t, 1, strings.Count(redis.AsErrorx(res).Error(), "a proxy closed the connection"), "%v", res)
	}
}

// A proxy may close the connection each time that it gets a certain read. The read is not sent
// again and again, because other requests would lose their replies each time.
func TestProxyClosesEachTime(t *testing.T) {
	t.Parallel()
	var closed atomic.Int64
	s := peer(t, func(r chaos.ScriptedRequest) string {
		switch r.Cmd {
		case "PING":
			return "+PONG\r\n"
		case "SCAN":
			closed.Add(1)
			return "close"
		}
		return ""
	})
	conn := connect(t, s.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}})
	do := redis.SyncCtx{S: redis.WithRetry(conn, redis.RetryOpts{Within: patience})}
	scan := redis.Req("SCAN", 0)
	for name, c := range map[string]struct {
		send   func() any
		closed int
	}{
		"alone":       {func() any { return do.Do(background, "SCAN", 0) }, 2},
		"many":        {func() any { return do.SendMany(background, requests(scan))[0] }, 2},
		"transaction": {func() any { _, err := do.SendTransaction(background, requests(scan)); return err }, 2},
		"scanner":     {func() any { _, err := do.Scanner(background, redis.ScanOpts{}).Next(); return err }, 2},
		"beside":      {func() any { return do.SendMany(background, requests(scan, redis.Req("GET", "k")))[0] }, 4},
	} {
		closed.Store(0)
		res := c.send()
		require.Equal(t, redis.OutcomeUnknown, redis.OutcomeOf(res), name)
		require.ErrorContains(t, redis.AsError(res), "a proxy closed the connection", name)
		require.Equal(t, c.closed == 2, strings.Contains(redis.AsError(res).Error(), "at this request"), name)
		require.EqualValues(t, c.closed, closed.Load(), name)
	}
}

// beside is a logger. It sends HOLD while a connection dials, so that later requests are in flight
// together with HOLD.
type beside struct{ redisconn.NoopLogger }

func (beside) Report(conn *redisconn.Connection, event redisconn.LogEvent) {
	if _, dials := event.(redisconn.LogConnecting); dials {
		conn.Send(redis.Req("HOLD"), nil, 0)
	}
}

// If a proxy has closed the connection twice while a read was in flight with other requests, the read is
// sent on a connection without other requests.
func TestSuspectsAreSentAlone(t *testing.T) {
	t.Parallel()
	held, reads := map[int]bool{}, 0
	var mu sync.Mutex
	s := peer(t, func(r chaos.ScriptedRequest) string {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case r.Cmd == "PING":
			return "+PONG\r\n"
		case r.Cmd == "HOLD":
			held[r.Conn] = true
			return "nothing"
		case r.Cmd == "SCAN", r.Cmd == "GET" && held[r.Conn]:
			reads++
			return "close"
		case r.Cmd == "GET":
			return bulk("value")
		}
		return ""
	})
	conn := connect(t, s.Addr(), redisconn.Opts{Logger: beside{}})
	do := redis.SyncCtx{S: redis.WithRetry(conn, redis.RetryOpts{Within: patience})}
	res := do.Do(background, "SCAN", 0)
	require.Equal(t, redis.OutcomeUnknown, redis.OutcomeOf(res))
	require.ErrorContains(t, redis.AsError(res), "a proxy closed the connection at this request")
	require.Len(t, redis.AttemptsOf(redis.AsError(res)), 3)
	require.Equal(t, []byte("value"), do.Do(background, "GET", "k"))
	var text string
	require.NoError(t, do.DoInto(background, &text, "GET", "k"))
	require.Equal(t, "value", text)
	mu.Lock()
	defer mu.Unlock()
	require.Equal(t, 3+2+2, reads)
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
