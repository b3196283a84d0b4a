package engine_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/conntest"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/testbed"
)

// A future that panics, blocks or ends its goroutine affects no other future.
func TestFuturesThatMisbehave(t *testing.T) {
	t.Parallel()
	s := testbed.NewServer(t)
	start := func(t *testing.T, timeout time.Duration) (*redisconn.Connection, *recorder) {
		log := &recorder{}
		return connect(t, s.Addr(), redisconn.Opts{Logger: log, IOTimeout: timeout}), log
	}
	// between sends three requests as one batch. The second one has f as its future. It returns the
	// futures of the other two.
	between := func(conn *redisconn.Connection, f func(res any)) (*outcome, *outcome) {
		first, last := newOutcome(), newOutcome()
		reqs := []redis.Request{redis.Req("ECHO", 1), redis.Req("ECHO", 2), redis.Req("ECHO", 3)}
		conn.SendMany(reqs, redis.FuncFuture(func(res any, n uint64) {
			switch n {
			case 0:
				first.Resolve(res, 0)
			case 1:
				f(res)
			case 2:
				last.Resolve(res, 0)
			}
		}), 0)
		return first, last
	}

	t.Run("panics", func(t *testing.T) {
		conn, log := start(t, time.Minute)
		first, last := between(conn, func(any) { panic("on purpose") })
		require.Equal(t, []byte("1"), first.Wait(t))
		require.Equal(t, []byte("3"), last.Wait(t))
		require.Zero(t, log.Count("Disconnected"), "the connection lives")
		require.Equal(t, 1, log.Count("FuturePanic"))
		require.Equal(t, "on purpose", conntest.Event[redisconn.LogFuturePanic](log).Value)
		require.Contains(t, string(conntest.Event[redisconn.LogFuturePanic](log).Stack), "reader_futures_test.go")
	})
	t.Run("panics last", func(t *testing.T) {
		conn, log := start(t, time.Minute)
		conn.Send(redis.Req("ECHO", 1), redis.FuncFuture(func(any, uint64) { panic("on purpose") }), 0)
		require.Equal(t, []byte("2"), sendTo(conn, "ECHO", 2).Wait(t))
		require.Equal(t, []string{"Connecting", "Connected", "FuturePanic"}, log.Names())
	})
	t.Run("panics on a refusal", func(t *testing.T) {
		conn, log := start(t, time.Minute)
		conn.Send(redis.Req("SELECT", 1), redis.FuncFuture(func(any, uint64) { panic("on purpose") }), 0)
		require.Equal(t, 1, log.Count("FuturePanic"))
	})
	t.Run("ends its goroutine", func(t *testing.T) {
		conn, log := start(t, time.Minute)
		first, last := between(conn, func(any) { runtime.Goexit() })
		require.Equal(t, []byte("1"), first.Wait(t))
		require.Equal(t, []byte("3"), last.Wait(t))
		require.NoError(t, conn.Ping())
		require.Zero(t, log.Count("Disconnected"), "the connection lives")
	})
	t.Run("sends", func(t *testing.T) {
		conn, _ := start(t, time.Minute)
		next := newOutcome()
		_, last := between(conn, func(any) { conn.Send(redis.Req("ECHO", 4), next, 0) })
		require.Equal(t, []byte("3"), last.Wait(t))
		require.Equal(t, []byte("4"), next.Wait(t))
	})
	t.Run("closes", func(t *testing.T) {
		conn, log := start(t, time.Minute)
		_, last := between(conn, func(any) { conn.Close() })
		if res := last.Wait(t); redis.AsError(res) != nil {
			requireUnknown(t, res, redis.ErrIO)
		}
		eventually(t, "closed", func() bool { return log.Count("ContextClosed") == 1 })
	})
	t.Run("blocks", func(t *testing.T) {
		conn, log := start(t, time.Second)
		block := make(chan struct{})
		defer close(block)
		first, last := between(conn, func(any) { <-block })
		require.Equal(t, []byte("1"), first.Wait(t))
		requireUnknown(t, last.Wait(t), redis.ErrIO) // when IOTimeout has passed
		eventually(t, "connected again", func() bool { return log.Count("Connected") == 2 })
		require.NoError(t, conn.Ping())
	})
	t.Run("blocks at the end", func(t *testing.T) {
		conn, log := start(t, time.Second)
		block := make(chan struct{})
		defer close(block)
		conn.Send(redis.Req("ECHO", 1), redis.FuncFuture(func(any, uint64) { <-block }), 0)
		eventually(t, "connected again", func() bool { return log.Count("Connected") == 2 })
		require.NoError(t, conn.Ping())
	})
}
