package redisconn_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

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

// Opts.MaxBytes bounds the size of the requests that wait for a dedicated connection.
func TestBytesThatWaitBehindProxies(t *testing.T) {
	t.Parallel()
	s, pops := occupied(t, "+OK")
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
