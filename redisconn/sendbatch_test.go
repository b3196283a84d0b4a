package redisconn_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/joomcode/errorx"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/conntest"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest/chaos"
	"github.com/joomcode/redispipe/testbed"
)

// transactionWays returns the ways to send a transaction on a connection, by name.
func transactionWays(t *testing.T, conn *redisconn.Connection) map[string]func([]redis.Request) ([]any, error) {
	return map[string]func([]redis.Request) ([]any, error){
		"Sync":    redis.Sync{S: conn}.SendTransaction,
		"SyncCtx": func(r []redis.Request) ([]any, error) { return redis.SyncCtx{S: conn}.SendTransaction(background, r) },
		"future":  func(r []redis.Request) ([]any, error) { return redis.ChanFutured{S: conn}.SendTransaction(r).Results() },
		"flags": func(r []redis.Request) ([]any, error) {
			got := newOutcomes(len(r) + 1)
			conn.SendBatchFlags(r, offset{got, 7}, 7, redisconn.DoTransaction)
			return redis.TransactionResponse(got.Wait(t)[len(r)])
		},
		"session": func(r []redis.Request) (results []any, err error) {
			err = redis.WithSession(background, conn, "", func(s *redis.Session) error {
				results, err = s.SendTransaction(r)
				return err
			})
			return results, err
		},
		"Watch": func(r []redis.Request) ([]any, error) {
			return redis.Watch(background, conn, []string{"a"}, func(tx *redis.Tx) error {
				for _, req := range r {
					tx.Queue(req.Cmd, req.Args...)
				}
				return nil
			})
		},
	}
}

// requireNoTransaction requires the error of a transaction whose requests may have run one by one.
func requireNoTransaction(t *testing.T, err error, name string) {
	t.Helper()
	requireUnknown(t, err, redis.ErrTransaction)
	require.Equal(t, redis.OutcomeUnknown, redis.OutcomeOf(err), name)
	require.False(t, redis.SafeToRetry(err), name)
	_, named := redis.AsErrorx(err).Property(redis.EKRequest)
	require.True(t, named, name)
	_, addressed := redis.AsErrorx(err).Property(redis.EKAddress)
	require.True(t, addressed || name == "session" || name == "Watch", name)
}

// If the ACL user may not send MULTI, the requests run one by one, so the outcome is unknown.
func TestTransactionMultiRefused(t *testing.T) {
	s := testbed.NewServer(t)
	admin := redis.Sync{S: connect(t, s.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}})}
	require.NoError(t, redis.AsError(admin.Do("ACL", "SETUSER", "app", "on", ">secret", "~*", "&*", "+@all", "-multi")))
	conn := connect(t, s.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}, Username: "app", Password: "secret"})
	ran := int64(0)
	for name, send := range transactionWays(t, conn) {
		_, err := send(requests(redis.Req("INCR", "a"), redis.Req("INCR", "a")))
		requireNoTransaction(t, err, name)
		require.ErrorContains(t, err, "MULTI was refused", name)
		require.ErrorContains(t, err, "NOPERM", name)
		ran += 2
		require.Equal(t, ran, admin.Do("INCRBY", "a", 0), "%s: they have run", name)
	}
}

// The answer to EXEC decides only if MULTI was accepted, and only if it has a result for each
// request.
func TestTransactionReplies(t *testing.T) {
	for name, c := range map[string]struct {
		multi, exec string
		want        string // the text of the error; "" for none
	}{
		"accepted":      {"+OK\r\n", "*2\r\n:1\r\n:2\r\n", ""},
		"refused":       {"-NOPERM no multi\r\n", "-ERR EXEC without MULTI\r\n", "MULTI was refused"},
		"abort":         {"-NOPERM no multi\r\n", "-EXECABORT x\r\n", "MULTI was refused"},
		"transient":     {"-LOADING x\r\n", "-LOADING x\r\n", "MULTI was refused"},
		"then null":     {"-NOPERM no multi\r\n", "*-1\r\n", "MULTI was refused"},
		"then results":  {"-ERR MULTI calls can not be nested\r\n", "*2\r\n:1\r\n:2\r\n", "MULTI was refused"},
		"other reply":   {"+QUEUED\r\n", "*2\r\n:1\r\n:2\r\n", "MULTI was answered with"},
		"null to MULTI": {"$-1\r\n", "*2\r\n:1\r\n:2\r\n", "MULTI was answered with"},
		"too few":       {"+OK\r\n", "*1\r\n:1\r\n", "1 results for 2 requests"},
		"too many":      {"+OK\r\n", "*3\r\n:1\r\n:2\r\n:3\r\n", "3 results for 2 requests"},
		"none":          {"+OK\r\n", "*0\r\n", "0 results for 2 requests"},
	} {
		t.Run(name, func(t *testing.T) {
			s := chaos.NewScripted(t, chaos.ScriptedOpts{Handler: func(conn *chaos.ScriptedConn, r chaos.ScriptedRequest) error {
				reply := map[string]string{"MULTI": c.multi, "EXEC": c.exec, "INCR": "+QUEUED\r\n"}[r.Cmd]
				if reply == "" {
					reply = "+OK\r\n"
				}
				_, err := conn.Write([]byte(reply))
				return err
			}})
			conn := connect(t, s.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}, NoClientInfo: true})
			for name, send := range transactionWays(t, conn) {
				results, err := send(requests(redis.Req("INCR", "a"), redis.Req("INCR", "a")))
				if c.want == "" {
					require.NoError(t, err, name)
					require.Equal(t, []any{int64(1), int64(2)}, results, name)
					continue
				}
				requireNoTransaction(t, err, name)
				require.ErrorContains(t, err, c.want, name)
			}
		})
	}
}

// A proxy may refuse a command that it does not know, and let EXEC run the others
// (findings/envoy-unknown-in-multi.sh). The error names the refused command.
func TestTransactionWithoutARefusedRequest(t *testing.T) {
	s := chaos.NewScripted(t, chaos.ScriptedOpts{Handler: func(conn *chaos.ScriptedConn, r chaos.ScriptedRequest) error {
		reply := map[string]string{"INCR": "+QUEUED\r\n", "XLEN": "-ERR unknown command 'XLEN'\r\n", "EXEC": "*1\r\n:1\r\n"}[r.Cmd]
		if reply == "" {
			reply = "+OK\r\n"
		}
		_, err := conn.Write([]byte(reply))
		return err
	}})
	conn := connect(t, s.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}, NoClientInfo: true})
	for name, send := range transactionWays(t, conn) {
		_, err := send(requests(redis.Req("INCR", "a"), redis.Req("XLEN", "b")))
		requireNoTransaction(t, err, name)
		require.ErrorContains(t, err, "EXEC returned 1 results for 2 requests: the request at index 1 was refused", name)
		require.ErrorContains(t, err, "unknown command 'XLEN'", name)
		require.ErrorContains(t, err, `Req("XLEN"`, name)
	}
}

// If the connection is lost after the server refused MULTI, the outcome is unknown. Statistics
// count the requests of the transaction and its EXEC.
func TestTransactionLostBehindMulti(t *testing.T) {
	for _, multi := range []string{"+OK\r\n", "-NOPERM no multi\r\n"} {
		s := chaos.NewScripted(t, chaos.ScriptedOpts{Handler: func(conn *chaos.ScriptedConn, r chaos.ScriptedRequest) error {
			if r.Cmd != "MULTI" {
				return context.Canceled
			}
			_, err := conn.Write([]byte(multi))
			return err
		}})
		conn := connect(t, s.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}, NoClientInfo: true})
		_, err := redis.Sync{S: conn}.SendTransaction(requests(redis.Req("INCR", "a"), redis.Req("INCR", "a")))
		require.Equal(t, redis.OutcomeUnknown, redis.OutcomeOf(err))
		require.Equal(t, strings.HasPrefix(multi, "-"), redis.AsErrorx(err).IsOfType(redis.ErrTransaction), "%v", err)
		eventually(t, "they are counted", func() bool { return conn.Stats().Unknown > 0 })
		require.EqualValues(t, 2, conn.Stats().Unknown)
	}
}

// A transaction can't contain a command that begins or ends a transaction, on any connection.
func TestTransactionRefusesItsBounds(t *testing.T) {
	s := testbed.NewServer(t)
	shared := connect(t, s.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}})
	script := connect(t, s.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}, ScriptMode: true})
	ways := transactionWays(t, shared)
	for name, send := range transactionWays(t, script) {
		if name != "session" && name != "Watch" {
			ways["ScriptMode, "+name] = send
		}
	}
	for name, send := range ways {
		for _, bad := range []redis.Request{
			redis.Req("EXEC"), redis.Req("discard"), redis.Req("Multi"), redis.Req("WATCH", "b"), redis.Req("watch b"),
		} {
			_, err := send(requests(redis.Req("INCR", "a"), bad, redis.Req("INCR", "a")))
			require.Equal(t, redis.OutcomeNotSent, redis.OutcomeOf(err), "%s, %v: %v", name, bad, err)
			require.False(t, redis.SafeToRetry(err), "%s, %v", name, bad)
			require.Contains(t, err.Error(), "command_forbidden", "%s, %v", name, bad)
		}
	}
	for _, bad := range []redis.Request{ // a session refuses the same commands as the shared connection
		redis.Req("SELECT", 1), redis.Req("UNWATCH"), redis.Req("BLPOP", "b", 0), redis.Req("SUBSCRIBE", "b"), redis.Req("INCR", struct{}{}),
	} {
		_, err := ways["Watch"](requests(redis.Req("INCR", "a"), bad))
		require.Equal(t, redis.AsErrorx(redis.CheckRequest(bad, false)).Type(), redis.AsErrorx(err).Type(), "%v: %v", bad, err)
	}
	require.Nil(t, redis.Sync{S: shared}.Do("GET", "a"), "nothing has run")
	results, err := transactionWays(t, script)["Sync"](requests(redis.Req("SELECT", 0), redis.Req("INCR", "a")))
	require.NoError(t, err)
	require.Equal(t, []any{"OK", int64(1)}, results)
}

// If the server did not queue a request of a transaction, the error names the request and the
// reason.
func TestTransactionAborted(t *testing.T) {
	s := testbed.NewServer(t)
	conn := connect(t, s.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}})
	for name, send := range transactionWays(t, conn) {
		_, err := send(requests(redis.Req("SET", "a", 1), redis.Req("NOSUCH", "secret"), redis.Req("GET")))
		requireAborted(t, err, name)
	}
	require.Nil(t, redis.Sync{S: conn}.Do("GET", "a"))
}

func requireAborted(t *testing.T, err error, name string) {
	t.Helper()
	require.Equal(t, redis.OutcomeRefused, redis.OutcomeOf(err), name)
	typed := redis.AsErrorx(err)
	require.True(t, typed.IsOfType(redis.ErrExecAbort), name)
	require.False(t, redis.SafeToRetry(err), name)
	require.ErrorContains(t, err, "EXECABORT Transaction discarded because of previous errors: the request at index 1 was refused", name)
	require.ErrorContains(t, err, "ERR unknown command", name)
	require.NotContains(t, fmt.Sprintf("%+v", err), "secret", name)
	req, _ := typed.Property(redis.EKRequest)
	require.Equal(t, redis.Req("NOSUCH", "secret"), req, name)
	text, _ := typed.Property(redis.EKText)
	require.Equal(t, "EXECABORT Transaction discarded because of previous errors.", text, name)
	require.True(t, redis.AsErrorx(typed.Cause()).IsOfType(redis.ErrResult), name)
}

func TestQueueBounds(t *testing.T) {
	s := chaos.NewScripted(t, chaos.ScriptedOpts{})
	t.Run("requests", func(t *testing.T) {
		conn, ready := conntest.SlowDial(t, s.Addr(), redisconn.Opts{MaxRequests: 3})
		var queued []*outcome
		for range 3 {
			queued = append(queued, sendTo(conn, "GET", "a"))
		}
		requireNotSent(t, sendTo(conn, "GET", "a").Wait(t), redis.ErrQueueFull)
		ctx, cancel := context.WithTimeout(background, 20*time.Millisecond)
		defer cancel()
		err := requireType(t, redis.SyncCtx{S: conn}.Do(ctx, "GET", "a"), redis.ErrRequestWithdrawn)
		require.True(t, err.HasTrait(redis.ErrTraitNotSent))
		res := make(chan any)
		go func() { res <- redis.Sync{S: conn}.Do("GET", "a") }()
		ready()
		require.Equal(t, "OK", <-res, "it waits for room")
		for _, o := range queued {
			require.Equal(t, "OK", o.Wait(t))
		}
	})
	t.Run("bytes", func(t *testing.T) {
		conn, ready := conntest.SlowDial(t, s.Addr(), redisconn.Opts{MaxBytes: 1000})
		first := sendTo(conn, "SET", "a", make([]byte, 900))
		requireNotSent(t, sendTo(conn, "SET", "a", make([]byte, 100)).Wait(t), redis.ErrQueueFull)
		res := make(chan any)
		go func() { res <- redis.Sync{S: conn}.Do("SET", "a", make([]byte, 900)) }()
		ready()
		require.Equal(t, "OK", <-res, "it waits for room")
		require.Equal(t, "OK", first.Wait(t))
	})
	t.Run("what can never fit does not wait", func(t *testing.T) {
		conn, ready := conntest.SlowDial(t, s.Addr(), redisconn.Opts{MaxBytes: 1000})
		large := redis.Req("SET", "a", make([]byte, 1000))
		many := slices.Repeat([]redis.Request{redis.Req("SET", "a", make([]byte, 100))}, 10)
		for range 2 { // as the only request, and after another one
			err := requireNotSent(t, redis.Sync{S: conn}.Send(large), redis.ErrRequestTooLarge)
			require.Contains(t, err.Message(), "Opts.MaxBytes")
			require.False(t, redis.SafeToRetry(err))
			for _, res := range (redis.SyncCtx{S: conn}).SendMany(t.Context(), many) {
				requireNotSent(t, res, redis.ErrRequestTooLarge)
			}
			_, failed := (redis.Sync{S: conn}).SendTransaction(many)
			requireNotSent(t, failed, redis.ErrRequestTooLarge)
			defer sendTo(conn, "GET", "a").Wait(t)
		}
		ready()
	})
	t.Run("a batch that does not fit waits, and does not spin", func(t *testing.T) {
		conn, ready := conntest.SlowDial(t, s.Addr(), redisconn.Opts{MaxRequests: 4})
		queued := sendTo(conn, "GET", "a")
		counter := &countingSender{Connection: conn}
		ctx, cancel := context.WithTimeout(background, 100*time.Millisecond)
		defer cancel()
		reqs := requests(redis.Req("GET", 1), redis.Req("GET", 2), redis.Req("GET", 3), redis.Req("GET", 4))
		for _, res := range (redis.SyncCtx{S: counter}).SendMany(ctx, reqs) {
			require.True(t, redis.AsErrorx(res).HasTrait(redis.ErrTraitNotSent), "%v", res)
		}
		require.Less(t, counter.n.Load(), int64(10))
		ready()
		queued.Wait(t)
	})
}

// countingSender counts calls of SendMany.
type countingSender struct {
	*redisconn.Connection
	n atomic.Int64
}

// SendMany implements redis.Sender.
func (c *countingSender) SendMany(reqs []redis.Request, cb redis.Future, start uint64) {
	c.n.Add(1)
	c.Connection.SendMany(reqs, cb, start)
}

// If a future ends its goroutine, as t.FailNow does, all other requests of its refused batch still
// get their results.
func TestRefusedBatchOutlivesFutures(t *testing.T) {
	conn := connect(t, chaos.NewScripted(t, chaos.ScriptedOpts{}).Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}})
	reqs := requests(redis.Req("GET", 1), redis.Req("GET", struct{}{}), redis.Req("GET", 3))
	for flags, results := range map[int]int{0: len(reqs), redisconn.DoTransaction: len(reqs) + 1} {
		got := newOutcomes(results)
		go conn.SendBatchFlags(reqs, redis.FuncFuture(func(res any, n uint64) {
			got.Resolve(res, n)
			runtime.Goexit()
		}), 0, flags)
		for i, res := range got.Wait(t) {
			requireNotSent(t, res, map[bool]*errorx.Type{true: redis.ErrArgumentType, false: redis.ErrBatchFormat}[i == 1])
		}
	}
}
