package redisconn_test

import (
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/lab/virtualtime"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
)

func TestDialTimeout(t *testing.T) {
	for _, c := range []struct {
		name string
		opts redisconn.Opts
		want time.Duration
	}{
		{"default", redisconn.Opts{}, time.Second},
		{"set", redisconn.Opts{DialTimeout: 100 * time.Millisecond}, 100 * time.Millisecond},
		{"IOTimeout", redisconn.Opts{IOTimeout: 3 * time.Second}, 3 * time.Second},
		{"over IOTimeout", redisconn.Opts{IOTimeout: time.Second, DialTimeout: time.Hour}, time.Hour},
		{"no IOTimeout", redisconn.Opts{IOTimeout: -1}, 5 * time.Second},
	} {
		t.Run("dialing, "+c.name, func(t *testing.T) {
			virtualtime.Run(t, func(t *testing.T) {
				began := time.Now()
				c.opts.Dialer, c.opts.Logger, c.opts.ReconnectPause = stuck, redisconn.NoopLogger{}, -1
				_, err := redisconn.Connect(background, "pipe:1", c.opts)
				requireNotSent(t, err, redisconn.ErrDial)
				require.Equal(t, c.want, time.Since(began))
				synctest.Wait()
			})
		})
		t.Run("handshake, "+c.name, func(t *testing.T) {
			virtualtime.Run(t, func(t *testing.T) {
				p := &pipes{answer: func([]string) string { return "" }}
				began := time.Now()
				c.opts.Dialer, c.opts.Logger, c.opts.ReconnectPause = p.dial, redisconn.NoopLogger{}, -1
				_, err := redisconn.Connect(background, "pipe:1", c.opts)
				requireNotSent(t, err, redisconn.ErrConnSetup)
				require.Equal(t, c.want, time.Since(began))
				synctest.Wait()
			})
		})
	}
}

// silentAfter answers only the handshake.
func silentAfter(args []string) string {
	if args[0] == "PING" && len(args) == 1 {
		return "+PONG\r\n"
	}
	return ""
}

func TestIOTimeout(t *testing.T) {
	virtualtime.Run(t, func(t *testing.T) {
		p := &pipes{answer: silentAfter}
		conn, log := connectPipes(t, p, redisconn.Opts{IOTimeout: 600 * time.Millisecond})
		began := time.Now()
		err := requireUnknown(t, sendTo(conn, "GET", "a").wait(t), redis.ErrIO)
		require.True(t, err.HasTrait(redis.ErrTraitConnectivity))
		require.GreaterOrEqual(t, time.Since(began), 600*time.Millisecond)
		require.LessOrEqual(t, time.Since(began), 800*time.Millisecond)
		synctest.Wait()
		require.Equal(t, 1, log.count("Disconnected"))
		require.True(t, conn.ConnectedNow(), "at once again")
	})
}

// When no requests are sent, the heartbeat notices a dead server.
func TestIOTimeoutOfHeartbeat(t *testing.T) {
	virtualtime.Run(t, func(t *testing.T) {
		p := &pipes{answer: silentAfter}
		_, log := connectPipes(t, p, redisconn.Opts{IOTimeout: 600 * time.Millisecond})
		time.Sleep(599 * time.Millisecond)
		require.Zero(t, log.count("Disconnected"))
		time.Sleep(600 * time.Millisecond)
		require.Equal(t, 1, log.count("Disconnected"))
	})
}

func TestNoIOTimeout(t *testing.T) {
	virtualtime.Run(t, func(t *testing.T) {
		p := &pipes{answer: silentAfter}
		conn, log := connectPipes(t, p, redisconn.Opts{IOTimeout: -1})
		pending := sendTo(conn, "GET", "a")
		time.Sleep(time.Hour)
		require.Zero(t, log.count("Disconnected"))
		require.Empty(t, pending.result)
		conn.Close()
		requireUnknown(t, pending.wait(t), redis.ErrIO)
	})
}

// A connection survives a large value over a slow link, but not a server that sends single bytes.
func TestIOTimeoutIsAboutProgress(t *testing.T) {
	for _, c := range []struct {
		name  string
		chunk int
		every time.Duration
		lives bool
	}{
		{"slow link", 16 << 10, 200 * time.Millisecond, true},
		{"fast link", 64 << 10, 10 * time.Millisecond, true},
		{"trickle", 1, 10 * time.Millisecond, false},
		{"trickle of more", 1 << 10, 100 * time.Millisecond, false},
		{"link too slow", 8 << 10, 200 * time.Millisecond, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			virtualtime.Run(t, func(t *testing.T) {
				const size = 1 << 20
				p := &pipes{}
				p.answer = func(args []string) string {
					if args[0] == "PING" {
						return pong(args)
					}
					conn, value := p.lastConn(), bulk(string(make([]byte, size)))
					for len(value) > c.chunk {
						if _, err := conn.Write([]byte(value[:c.chunk])); err != nil {
							return ""
						}
						value = value[c.chunk:]
						time.Sleep(c.every)
					}
					return value
				}
				conn, log := connectPipes(t, p, redisconn.Opts{IOTimeout: time.Second})
				future := sendTo(conn, "GET", "a")
				res := <-future.result
				if c.lives {
					require.Len(t, res, size)
					require.Zero(t, log.count("Disconnected"))
				} else {
					requireUnknown(t, res, redis.ErrIO)
				}
			})
		})
	}
}

// In ScriptMode a command may block for its own timeout plus IOTimeout. That time begins when
// earlier requests are answered.
func TestIOTimeoutOfBlockingCommands(t *testing.T) {
	opts := redisconn.Opts{IOTimeout: 600 * time.Millisecond, ScriptMode: true}
	const late = 200 * time.Millisecond // how late a time-out may be noticed
	test := func(name string, f func(t *testing.T, conn *redisconn.Connection, log *recorder)) {
		t.Run(name, func(t *testing.T) {
			virtualtime.Run(t, func(t *testing.T) {
				p := &pipes{answer: func(args []string) string {
					if args[0] == "BLPOP" {
						if seconds, _ := time.ParseDuration(args[2] + "s"); args[1] != "hangs" {
							time.Sleep(seconds)
							return "*-1\r\n"
						}
						return ""
					}
					return silentAfter(args)
				}}
				conn, log := connectPipes(t, p, opts)
				f(t, conn, log)
			})
		})
	}
	test("blocks", func(t *testing.T, conn *redisconn.Connection, log *recorder) {
		require.Nil(t, sendTo(conn, "BLPOP", "list", 10).wait(t))
		require.Zero(t, log.count("Disconnected"))
	})
	test("one after the other", func(t *testing.T, conn *redisconn.Connection, log *recorder) {
		var all []*outcome
		for _, seconds := range []any{10, "0.5", 5.5} {
			all = append(all, sendTo(conn, "BLPOP", "list", seconds))
			synctest.Wait() // so that each command has its own batch
		}
		many := newOutcomes(3)
		conn.SendMany(slices.Repeat(requests(redis.Req("BLPOP", "list", 2)), 3), many, 0)
		for _, o := range all {
			require.Nil(t, o.wait(t))
		}
		require.Equal(t, []any{nil, nil, nil}, many.wait(t))
		require.Zero(t, log.count("Disconnected"))
	})
	test("hangs", func(t *testing.T, conn *redisconn.Connection, log *recorder) {
		began := time.Now()
		requireUnknown(t, sendTo(conn, "BLPOP", "hangs", 10).wait(t), redis.ErrIO)
		require.InDelta(t, 10*time.Second+opts.IOTimeout+late/2, time.Since(began), float64(late/2))
	})
	test("for ever", func(t *testing.T, conn *redisconn.Connection, log *recorder) {
		o := sendTo(conn, "BLPOP", "hangs", 0)
		time.Sleep(time.Hour)
		require.Zero(t, log.count("Disconnected"))
		conn.Close()
		requireUnknown(t, o.wait(t), redis.ErrIO)
	})
	test("does not block", func(t *testing.T, conn *redisconn.Connection, log *recorder) {
		began := time.Now()
		requireUnknown(t, sendTo(conn, "GET", "key").wait(t), redis.ErrIO)
		require.InDelta(t, opts.IOTimeout+late/2, time.Since(began), float64(late/2))
	})
	test("streams", func(t *testing.T, conn *redisconn.Connection, log *recorder) {
		require.Nil(t, conn.DoStream(background, nil, "BLPOP", "list", 10))
		began := time.Now()
		requireUnknown(t, conn.DoStream(background, nil, "BLPOP", "hangs", 10), redis.ErrIO)
		require.Equal(t, 10*time.Second+opts.IOTimeout, time.Since(began))
	})
}

// A PushSocket sends a PING while no message arrives. Its PONG confirms that no message was lost
// until then; without a PONG the socket ends.
func TestPushSocketOfAServerThatIsGone(t *testing.T) {
	virtualtime.Run(t, func(t *testing.T) {
		var gone atomic.Bool
		p := &pipes{answer: func(args []string) string {
			switch {
			case gone.Load():
				return ""
			case args[0] == "PING":
				return pong(args)
			}
			return "+OK\r\n"
		}}
		const timeout = time.Second
		conn, _ := connectPipes(t, p, redisconn.Opts{IOTimeout: timeout})
		socket, err := conn.OpenPush(t.Context())
		require.NoError(t, err)
		began := time.Now()
		received := make(chan error, 1)
		go func() {
			_, _, err := socket.Receive(new(redis.Push))
			received <- err
		}()
		time.Sleep(3 * timeout)
		require.Greater(t, socket.Confirmed().Sub(began), 2*timeout)
		gone.Store(true)
		require.ErrorContains(t, <-received, "no answer within")
		<-socket.Done()
		require.LessOrEqual(t, time.Since(began), 4*timeout)
	})
}
