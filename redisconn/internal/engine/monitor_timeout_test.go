package engine_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/conntest"
	"github.com/joomcode/redispipe/internal/lab/virtualtime"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
)

func TestIOTimeout(t *testing.T) {
	virtualtime.Run(t, func(t *testing.T) {
		p := &pipes{Answer: conntest.SilentAfter}
		conn, log := connectPipes(t, p, redisconn.Opts{IOTimeout: 600 * time.Millisecond})
		began := time.Now()
		err := requireUnknown(t, sendTo(conn, "GET", "a").Wait(t), redis.ErrIO)
		require.True(t, err.HasTrait(redis.ErrTraitConnectivity))
		require.GreaterOrEqual(t, time.Since(began), 600*time.Millisecond)
		require.LessOrEqual(t, time.Since(began), 800*time.Millisecond)
		synctest.Wait()
		require.Equal(t, 1, log.Count("Disconnected"))
		require.True(t, conn.ConnectedNow(), "at once again")
	})
}

// When no requests are sent, the heartbeat notices a dead server.
func TestIOTimeoutOfHeartbeat(t *testing.T) {
	virtualtime.Run(t, func(t *testing.T) {
		p := &pipes{Answer: conntest.SilentAfter}
		_, log := connectPipes(t, p, redisconn.Opts{IOTimeout: 600 * time.Millisecond})
		time.Sleep(599 * time.Millisecond)
		require.Zero(t, log.Count("Disconnected"))
		time.Sleep(600 * time.Millisecond)
		require.Equal(t, 1, log.Count("Disconnected"))
	})
}

func TestNoIOTimeout(t *testing.T) {
	virtualtime.Run(t, func(t *testing.T) {
		p := &pipes{Answer: conntest.SilentAfter}
		conn, log := connectPipes(t, p, redisconn.Opts{IOTimeout: -1})
		pending := sendTo(conn, "GET", "a")
		time.Sleep(time.Hour)
		require.Zero(t, log.Count("Disconnected"))
		require.Empty(t, pending.Result)
		conn.Close()
		requireUnknown(t, pending.Wait(t), redis.ErrIO)
	})
}

// In ScriptMode a command may block for its own timeout plus IOTimeout. That time begins when
// earlier requests are answered.
func TestIOTimeoutOfBlockingCommands(t *testing.T) {
	opts := redisconn.Opts{IOTimeout: 600 * time.Millisecond, ScriptMode: true}
	const late = 200 * time.Millisecond // how late a time-out may be noticed
	test := func(name string, f func(t *testing.T, conn *redisconn.Connection, log *recorder)) {
		t.Run(name, func(t *testing.T) {
			virtualtime.Run(t, func(t *testing.T) {
				p := &pipes{Answer: func(args []string) string {
					if args[0] == "BLPOP" {
						if seconds, _ := time.ParseDuration(args[2] + "s"); args[1] != "hangs" {
							time.Sleep(seconds)
							return "*-1\r\n"
						}
						return ""
					}
					return conntest.SilentAfter(args)
				}}
				conn, log := connectPipes(t, p, opts)
				f(t, conn, log)
			})
		})
	}
	test("blocks", func(t *testing.T, conn *redisconn.Connection, log *recorder) {
		require.Nil(t, sendTo(conn, "BLPOP", "list", 10).Wait(t))
		require.Zero(t, log.Count("Disconnected"))
	})
	test("one after the other", func(t *testing.T, conn *redisconn.Connection, log *recorder) {
		var all []*outcome
		for _, seconds := range []any{10, "0.5", 5.5} {
			all = append(all, sendTo(conn, "BLPOP", "list", seconds))
			synctest.Wait() // so that each command has its own batch
		}
		many := newOutcomes(3)
		conn.SendMany(slices.Repeat([]redis.Request{redis.Req("BLPOP", "list", 2)}, 3), many, 0)
		for _, o := range all {
			require.Nil(t, o.Wait(t))
		}
		require.Equal(t, []any{nil, nil, nil}, many.Wait(t))
		require.Zero(t, log.Count("Disconnected"))
	})
	test("hangs", func(t *testing.T, conn *redisconn.Connection, log *recorder) {
		began := time.Now()
		requireUnknown(t, sendTo(conn, "BLPOP", "hangs", 10).Wait(t), redis.ErrIO)
		require.InDelta(t, 10*time.Second+opts.IOTimeout+late/2, time.Since(began), float64(late/2))
	})
	test("for ever", func(t *testing.T, conn *redisconn.Connection, log *recorder) {
		o := sendTo(conn, "BLPOP", "hangs", 0)
		time.Sleep(time.Hour)
		require.Zero(t, log.Count("Disconnected"))
		conn.Close()
		requireUnknown(t, o.Wait(t), redis.ErrIO)
	})
	test("does not block", func(t *testing.T, conn *redisconn.Connection, log *recorder) {
		began := time.Now()
		requireUnknown(t, sendTo(conn, "GET", "key").Wait(t), redis.ErrIO)
		require.InDelta(t, opts.IOTimeout+late/2, time.Since(began), float64(late/2))
	})
	test("streams", func(t *testing.T, conn *redisconn.Connection, log *recorder) {
		require.Nil(t, conn.DoStream(background, nil, "BLPOP", "list", 10))
		began := time.Now()
		requireUnknown(t, conn.DoStream(background, nil, "BLPOP", "hangs", 10), redis.ErrIO)
		require.Equal(t, 10*time.Second+opts.IOTimeout, time.Since(began))
	})
}
