package engine_test

import (
	"fmt"
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/conntest"
	"github.com/joomcode/redispipe/internal/lab/virtualtime"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest/chaos"
)

func TestHeartbeatRunsThriceATimeout(t *testing.T) {
	virtualtime.Run(t, func(t *testing.T) {
		p, count := conntest.Beats(bulk)
		_, log := connectPipes(t, p, redisconn.Opts{IOTimeout: 600 * time.Millisecond})
		time.Sleep(time.Minute)
		require.InDelta(t, 300, count.Load(), 2)
		require.Zero(t, log.Count("Disconnected"))
	})
}

func TestHeartbeatWithoutTimeout(t *testing.T) {
	virtualtime.Run(t, func(t *testing.T) {
		p, count := conntest.Beats(bulk)
		connectPipes(t, p, redisconn.Opts{IOTimeout: -1})
		time.Sleep(time.Minute)
		require.Greater(t, count.Load(), int64(100))
	})
}

func TestHeartbeatIsLeftOutOfScriptMode(t *testing.T) {
	virtualtime.Run(t, func(t *testing.T) {
		p, count := conntest.Beats(bulk)
		connectPipes(t, p, redisconn.Opts{ScriptMode: true})
		time.Sleep(time.Minute)
		require.Zero(t, count.Load())
	})
}

func TestHeartbeatNonceDiffersEachTime(t *testing.T) {
	virtualtime.Run(t, func(t *testing.T) {
		seen := map[string]bool{}
		p, _ := conntest.Beats(func(nonce string) string {
			if seen[nonce] {
				t.Errorf("nonce %s was used before", nonce)
			}
			seen[nonce] = true
			return bulk(nonce)
		})
		connectPipes(t, p, redisconn.Opts{})
		time.Sleep(time.Minute)
		synctest.Wait()
		require.NotEmpty(t, seen)
	})
}

func TestHeartbeatAnsweredWithSomethingElse(t *testing.T) {
	for name, reply := range map[string]string{
		"another nonce": bulk("0123456789abcdef"),
		"PONG":          "+PONG\r\n",
		"null":          "$-1\r\n",
		"integer":       ":1\r\n",
		"array":         "*1\r\n$1\r\na\r\n",
		"error":         "-ERR something\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			virtualtime.Run(t, func(t *testing.T) {
				p, _ := conntest.Beats(func(string) string { return reply })
				_, log := connectPipes(t, p, redisconn.Opts{IOTimeout: 600 * time.Millisecond})
				time.Sleep(600 * time.Millisecond)
				synctest.Wait()
				require.NotZero(t, log.Count("Disconnected"))
				requireType(t, conntest.Event[redisconn.LogDisconnected](log).Error, redis.ErrPing)
			})
		})
	}
}

// A healthy server may refuse PING and still answer other requests.
func TestHeartbeatRefused(t *testing.T) {
	for _, reply := range []string{
		"-NOPERM this user has no permissions to run the 'ping' command\r\n",
		"-NOAUTH Authentication required.\r\n",
		"-LOADING Redis is loading the dataset in memory\r\n",
		"-BUSY Redis is busy running a script.\r\n",
		"-MASTERDOWN Link with MASTER is down\r\n",
		"-MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk.\r\n",
	} {
		t.Run(reply[1:8], func(t *testing.T) {
			virtualtime.Run(t, func(t *testing.T) {
				p, count := conntest.Beats(func(string) string { return reply })
				_, log := connectPipes(t, p, redisconn.Opts{})
				time.Sleep(time.Minute)
				synctest.Wait()
				require.Zero(t, log.Count("Disconnected"))
				require.Greater(t, count.Load(), int64(100))
			})
		})
	}
}

func TestPingLatency(t *testing.T) {
	virtualtime.Run(t, func(t *testing.T) {
		var trip atomic.Int64
		trip.Store(int64(10 * time.Millisecond))
		p := &pipes{Answer: func(args []string) string {
			time.Sleep(time.Duration(trip.Load()))
			return pong(args)
		}}
		p.Greet = p.Answer
		conn, _ := connectPipes(t, p, redisconn.Opts{})
		require.Equal(t, 10*time.Millisecond, conn.PingLatency())
		trip.Store(int64(20 * time.Millisecond))
		time.Sleep(time.Second)
		smoothed := conn.PingLatency()
		require.Greater(t, smoothed, 10*time.Millisecond)
		require.Less(t, smoothed, 20*time.Millisecond)
		require.Zero(t, smoothed%redisconn.PingLatencyGranularity)
		time.Sleep(time.Minute)
		require.InDelta(t, 20, conn.PingLatency().Seconds()*1000, 0.1)
	})
}

// If the server drops a reply, the next reply is the heartbeat's echo. The waiting request does not
// get it.
func TestHeartbeatsEchoAnswersNobodyElse(t *testing.T) {
	t.Parallel()
	s := chaos.NewScripted(t, chaos.ScriptedOpts{Raw: true, Handler: func(c *chaos.ScriptedConn, r chaos.ScriptedRequest) error {
		reply := "+PONG\r\n"
		switch {
		case r.Cmd == "GET":
			return nil
		case len(r.Args) == 1:
			reply = fmt.Sprintf("$%d\r\n%s\r\n", len(r.Args[0]), r.Args[0])
		}
		_, err := io.WriteString(c, reply)
		return err
	}})
	log := &recorder{}
	conn := connect(t, s.Addr(), redisconn.Opts{Logger: log, NoClientInfo: true, IOTimeout: 8 * time.Second})
	requireUnknown(t, sendTo(conn, "GET", "key").Wait(t), redis.ErrIO)
	eventually(t, "disconnected", func() bool { return log.Count("Disconnected") == 1 })
	requireType(t, conntest.Event[redisconn.LogDisconnected](log).Error, redis.ErrPing)
}
