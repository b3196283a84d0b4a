package redisconn_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/joomcode/errorx"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/lab/drill"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest/chaos"
	"github.com/joomcode/redispipe/testbed"
)

// A reply that does not parse ends the socket. Its request gets its own error, all other requests
// in flight end as unknown, and the connection dials again.
func TestHostileReplies(t *testing.T) {
	for _, c := range []struct {
		name, reply string
		want        *errorx.Type
	}{
		{"nothing known", "?\r\n", redis.ErrUnknownHeaderType},
		{"empty line", "\r\n", redis.ErrHeaderlineEmpty},
		{"no CR", "+OK\n", redis.ErrNoFinalRN},
		{"CR within", "+O\rK\r\n", redis.ErrResponseFormat},
		{"no number", ":\r\n", redis.ErrIntegerParsing},
		{"word for a number", ":one\r\n", redis.ErrIntegerParsing},
		{"number too large", ":9223372036854775808\r\n", redis.ErrIntegerParsing},
		{"space before a number", ": 1\r\n", redis.ErrIntegerParsing},
		{"bulk without length", "$\r\n", redis.ErrIntegerParsing},
		{"bulk of a word", "$x\r\n", redis.ErrIntegerParsing},
		{"bulk of +1", "$+1\r\na\r\n", redis.ErrIntegerParsing},
		{"bulk of -2", "$-2\r\n", redis.ErrResponseFormat},
		{"bulk of -0", "$-0\r\n\r\n", redis.ErrResponseFormat},
		{"largest bulk", "$9223372036854775807\r\n", redis.ErrResponseTooLarge},
		{"bulk over the limit", "$536870913\r\n", redis.ErrResponseTooLarge},
		{"bulk longer than its length", "$1\r\nab\r\n", redis.ErrNoFinalRN},
		{"array of -2", "*-2\r\n", redis.ErrResponseFormat},
		{"array over the limit", "*2147483647\r\n", redis.ErrResponseTooLarge},
		{"largest array", "*9223372036854775807\r\n", redis.ErrResponseTooLarge},
		{"largest map", "%9223372036854775807\r\n", redis.ErrResponseTooLarge},
		{"largest nested arrays", strings.Repeat("*134217728\r\n", 100) + "?\r\n", redis.ErrUnknownHeaderType},
		{"deep", strings.Repeat("*1\r\n", 100_000), redis.ErrResponseTooLarge},
		{"long line", "+" + strings.Repeat("x", 1<<20), redis.ErrHeaderlineTooLarge},
		{"push within", "*1\r\n>1\r\n+x\r\n", redis.ErrResponseFormat},
		{"bad boolean", "#x\r\n", redis.ErrResponseFormat},
		{"bad null", "_x\r\n", redis.ErrResponseFormat},
		{"bad double", ",one\r\n", redis.ErrResponseFormat},
		{"bad verbatim string", "=1\r\nx\r\n", redis.ErrResponseFormat},
		{"map key of an array", "%1\r\n*0\r\n+x\r\n", redis.ErrResponseFormat},
		{"HTTP", "HTTP/1.1 400 Bad Request\r\n\r\n", redis.ErrUnknownHeaderType},
		{"zeros", strings.Repeat("\x00", 100) + "\r\n", redis.ErrUnknownHeaderType},
	} {
		t.Run(c.name, func(t *testing.T) {
			var bad atomic.Bool
			bad.Store(true)
			s := chaos.NewScripted(t, chaos.ScriptedOpts{Handler: func(conn *chaos.ScriptedConn, r chaos.ScriptedRequest) error {
				reply := "+fine\r\n"
				if r.Cmd == "BAD" && bad.Swap(false) {
					reply = c.reply
				}
				_, err := io.WriteString(conn, reply)
				return err
			}})
			log := &recorder{}
			conn := connect(t, s.Addr(), redisconn.Opts{Logger: log, Protocol: 3})
			require.Equal(t, "fine", sendTo(conn, "GOOD").wait(t))
			both := newOutcomes(2)
			conn.SendMany([]redis.Request{redis.Req("BAD"), redis.Req("GOOD")}, both, 0)
			results := both.wait(t)
			requireUnknown(t, results[0], c.want)
			requireUnknown(t, results[1], redis.ErrIO)
			eventually(t, "connected again", func() bool { return log.count("Connected") == 2 })
			requireType(t, event[redisconn.LogDisconnected](log).Error, c.want)
			require.Equal(t, "fine", redis.Sync{S: conn}.Do("GOOD"))
		})
	}
}

// A reply that breaks off is an error, no matter after how many bytes.
func TestTruncatedReplies(t *testing.T) {
	drill.Rotate(t)
	whole := "*3\r\n$3\r\nfoo\r\n:12\r\n+OK\r\n"
	for n := range len(whole) {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			s := chaos.NewScripted(t, chaos.ScriptedOpts{Handler: chaos.ScriptedThenClose(whole[:n])})
			conn := connect(t, s.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}})
			requireUnknown(t, sendTo(conn, "GET", "key").wait(t), redis.ErrIO)
		})
	}
}

// Types of RESP3 are refused unless Opts ask for RESP3. Otherwise one flipped bit could turn a
// number into a push, which would swallow the replies after it.
func TestRESP3IsRefusedUnlessAskedFor(t *testing.T) {
	for _, reply := range []string{"_\r\n", "#t\r\n", ",5\r\n", "(5\r\n", "=5\r\ntxt:x\r\n", "!3\r\nERR\r\n",
		"%0\r\n", "~0\r\n", ">1\r\n+x\r\n", "|0\r\n+x\r\n", "*1\r\n,5\r\n"} {
		t.Run(reply[:1], func(t *testing.T) {
			s := chaos.NewScripted(t, chaos.ScriptedOpts{Handler: chaos.ScriptedReplies(reply)})
			conn := connect(t, s.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}})
			requireUnknown(t, sendTo(conn, "GET", "key").wait(t), redis.ErrUnknownHeaderType)
		})
	}
}

func TestReplyNobodyAskedFor(t *testing.T) {
	s := chaos.NewScripted(t, chaos.ScriptedOpts{})
	log := &recorder{}
	conn := connect(t, s.Addr(), redisconn.Opts{Logger: log})
	s.Broadcast([]byte("+surprise\r\n"))
	eventually(t, "disconnected", func() bool { return log.count("Disconnected") == 1 })
	requireType(t, event[redisconn.LogDisconnected](log).Error, redis.ErrResponseUnexpected)
	eventually(t, "connected again", conn.ConnectedNow)
	require.Equal(t, "OK", redis.Sync{S: conn}.Do("GET", "key"))
}

// A push answers no request, no matter where it comes.
func TestPushesAreSkipped(t *testing.T) {
	push := ">3\r\n+message\r\n+channel\r\n$4\r\nbody\r\n" +
		">4\r\n$6\r\nMOVING\r\n:1\r\n:15\r\n$3\r\nh:1\r\n" + ">3\r\n$11\r\nFAILED_OVER\r\n:2\r\n*1\r\n$1\r\n1\r\n"
	s := chaos.NewScripted(t, chaos.ScriptedOpts{
		Handler: chaos.ScriptedReplies(push+"+one\r\n"+push, push+"+two\r\n"),
	})
	log := &recorder{}
	conn := connect(t, s.Addr(), redisconn.Opts{Protocol: 3, Logger: log})
	s.Broadcast([]byte(push))
	require.Equal(t, "one", redis.Sync{S: conn}.Do("GET", "a"))
	require.Equal(t, "two", redis.Sync{S: conn}.Do("GET", "a"))
	require.Zero(t, log.count("Disconnected"))
}

// An announcement of maintenance is reported, no matter which goroutine reads it. No reply and no
// socket is lost.
func TestMaintenanceIsReported(t *testing.T) {
	moving := ">4\r\n$6\r\nMOVING\r\n:1\r\n:15\r\n$3\r\nh:1\r\n"
	others := ">0\r\n>1\r\n*0\r\n>2\r\n$5\r\nother\r\n:1\r\n>9\r\n$9\r\nSMIGRATED\r\n" + strings.Repeat(":1\r\n", 8)
	s := chaos.NewScripted(t, chaos.ScriptedOpts{Handler: chaos.ScriptedReplies(moving+"$3\r\none\r\n", "$3\r\ntwo\r\n")})
	log := &recorder{}
	conn := connect(t, s.Addr(), redisconn.Opts{Protocol: 3, Logger: log})
	db := redis.SyncCtx{S: conn}
	var got string
	require.NoError(t, db.DoInto(t.Context(), &got, "GET", "a"))
	require.Equal(t, "one", got)
	require.Equal(t, redisconn.LogMaintenance{Kind: "MOVING", In: 15 * time.Second, Endpoint: "h:1"}, event[redisconn.LogMaintenance](log))
	s.Broadcast([]byte(others)) // arrives while no request is pending
	eventually(t, "reported", func() bool { return log.count("Maintenance") == 2 })
	require.Equal(t, []byte("two"), db.Do(t.Context(), "GET", "a"))
	require.Zero(t, log.count("Disconnected"))
}

// A server that announces maintenance again and again does not fill the log.
func TestMaintenanceIsLimited(t *testing.T) {
	const announced = 10_000
	flood := strings.Repeat(">3\r\n$8\r\nMIGRATED\r\n:1\r\n*0\r\n", announced)
	s := chaos.NewScripted(t, chaos.ScriptedOpts{Handler: chaos.ScriptedReplies(flood + "$3\r\none\r\n")})
	log := &recorder{}
	conn := connect(t, s.Addr(), redisconn.Opts{Protocol: 3, Logger: log})
	require.Equal(t, []byte("one"), redis.Sync{S: conn}.Do("GET", "a"))
	require.NotZero(t, log.count("Maintenance"))
	require.Less(t, log.count("Maintenance"), announced/2)
}

func TestServerClosesAndResets(t *testing.T) {
	for name, end := range map[string]func(*chaos.ScriptedConn){
		"close": (*chaos.ScriptedConn).Close,
		"reset": (*chaos.ScriptedConn).Reset,
	} {
		t.Run(name, func(t *testing.T) {
			s := chaos.NewScripted(t, chaos.ScriptedOpts{Handler: func(c *chaos.ScriptedConn, r chaos.ScriptedRequest) error {
				if r.Cmd == "END" {
					end(c)
					return net.ErrClosed
				}
				_, err := io.WriteString(c, "+OK\r\n")
				return err
			}})
			log := &recorder{}
			conn := connect(t, s.Addr(), redisconn.Opts{Logger: log})
			requireUnknown(t, sendTo(conn, "END").wait(t), redis.ErrIO)
			eventually(t, "connected again", conn.ConnectedNow)
			require.Equal(t, "OK", redis.Sync{S: conn}.Do("GET", "key"))
			eventually(t, "told", func() bool { return log.count("Disconnected") == 1 })
			requireType(t, event[redisconn.LogDisconnected](log).Error, redis.ErrIO)
		})
	}
}

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
		require.Equal(t, []byte("1"), first.wait(t))
		require.Equal(t, []byte("3"), last.wait(t))
		require.Zero(t, log.count("Disconnected"), "the connection lives")
		require.Equal(t, 1, log.count("FuturePanic"))
		require.Equal(t, "on purpose", event[redisconn.LogFuturePanic](log).Value)
		require.Contains(t, string(event[redisconn.LogFuturePanic](log).Stack), "reader_test.go")
	})
	t.Run("panics last", func(t *testing.T) {
		conn, log := start(t, time.Minute)
		conn.Send(redis.Req("ECHO", 1), redis.FuncFuture(func(any, uint64) { panic("on purpose") }), 0)
		require.Equal(t, []byte("2"), sendTo(conn, "ECHO", 2).wait(t))
		require.Equal(t, []string{"Connecting", "Connected", "FuturePanic"}, log.names())
	})
	t.Run("panics on a refusal", func(t *testing.T) {
		conn, log := start(t, time.Minute)
		conn.Send(redis.Req("SELECT", 1), redis.FuncFuture(func(any, uint64) { panic("on purpose") }), 0)
		require.Equal(t, 1, log.count("FuturePanic"))
	})
	t.Run("ends its goroutine", func(t *testing.T) {
		conn, log := start(t, time.Minute)
		first, last := between(conn, func(any) { runtime.Goexit() })
		require.Equal(t, []byte("1"), first.wait(t))
		require.Equal(t, []byte("3"), last.wait(t))
		require.NoError(t, conn.Ping())
		require.Zero(t, log.count("Disconnected"), "the connection lives")
	})
	t.Run("sends", func(t *testing.T) {
		conn, _ := start(t, time.Minute)
		next := newOutcome()
		_, last := between(conn, func(any) { conn.Send(redis.Req("ECHO", 4), next, 0) })
		require.Equal(t, []byte("3"), last.wait(t))
		require.Equal(t, []byte("4"), next.wait(t))
	})
	t.Run("closes", func(t *testing.T) {
		conn, log := start(t, time.Minute)
		_, last := between(conn, func(any) { conn.Close() })
		if res := last.wait(t); redis.AsError(res) != nil {
			requireUnknown(t, res, redis.ErrIO)
		}
		eventually(t, "closed", func() bool { return log.count("ContextClosed") == 1 })
	})
	t.Run("blocks", func(t *testing.T) {
		conn, log := start(t, time.Second)
		block := make(chan struct{})
		defer close(block)
		first, last := between(conn, func(any) { <-block })
		require.Equal(t, []byte("1"), first.wait(t))
		requireUnknown(t, last.wait(t), redis.ErrIO) // when IOTimeout has passed
		eventually(t, "connected again", func() bool { return log.count("Connected") == 2 })
		require.NoError(t, conn.Ping())
	})
	t.Run("blocks at the end", func(t *testing.T) {
		conn, log := start(t, time.Second)
		block := make(chan struct{})
		defer close(block)
		conn.Send(redis.Req("ECHO", 1), redis.FuncFuture(func(any, uint64) { <-block }), 0)
		eventually(t, "connected again", func() bool { return log.count("Connected") == 2 })
		require.NoError(t, conn.Ping())
	})
}

func TestLargeReplies(t *testing.T) {
	s := testbed.NewServer(t)
	conn := connect(t, s.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}})
	sync := redis.Sync{S: conn}
	for _, size := range []int{1, 32<<10 - 5, 32 << 10, 64<<10 + 1, 5 << 20} {
		value := strings.Repeat("v", size)
		require.Equal(t, "OK", sync.Do("SET", "key", value))
		require.True(t, value == string(sync.Do("GET", "key").([]byte)), "size %d", size)
	}
	many := sync.Do("EVAL", "local t={} for i=1,7000 do t[i]=i end return {t,t}", 0).([]any)
	require.Len(t, many[1], 7000)
	require.EqualValues(t, 7000, many[1].([]any)[6999])
}

// A reply that does not parse counts as the answer to the oldest request, even if no caller waits
// for that request. The next request ends as unknown.
func TestMalformedReplyToNobody(t *testing.T) {
	s := chaos.NewScripted(t, chaos.ScriptedOpts{Handler: func(c *chaos.ScriptedConn, r chaos.ScriptedRequest) error {
		if r.Cmd != "GET" { // both requests are in flight by then
			return nil
		}
		_, err := c.Write([]byte("?\r\n"))
		return err
	}})
	conn := connect(t, s.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}})
	for name, send := range map[string]func(o *outcome){
		"ASKING": func(o *outcome) { conn.SendAsk(redis.Req("GET", "key"), o, 0, true) },
		"a request without a future": func(o *outcome) {
			conn.Send(redis.Req("SET", "key", 1), nil, 0)
			conn.Send(redis.Req("GET", "key"), o, 0)
		},
	} {
		t.Run(name, func(t *testing.T) {
			eventually(t, "connected", conn.ConnectedNow)
			o := newOutcome()
			send(o)
			requireUnknown(t, o.wait(t), redis.ErrIO)
		})
	}
}

// connectedLogger blocks in Report when the connection is connected.
type connectedLogger struct {
	recorder
	wait chan struct{}
}

// Report implements redisconn.Logger.
func (l *connectedLogger) Report(conn *redisconn.Connection, event redisconn.LogEvent) {
	if _, connected := event.(redisconn.LogConnected); connected {
		<-l.wait
	}
	l.recorder.Report(conn, event)
}

// A reply that arrives after Close, but before the lifecycle has handled Close, does not count as
// unsolicited.
func TestReplyAfterClose(t *testing.T) {
	reply := make(chan struct{})
	s := chaos.NewScripted(t, chaos.ScriptedOpts{Handler: func(c *chaos.ScriptedConn, _ chaos.ScriptedRequest) error {
		<-reply
		_, err := c.Write([]byte("+OK\r\n"))
		return err
	}})
	log := &connectedLogger{wait: make(chan struct{})}
	read := make(chan struct{})
	conn := connect(t, s.Addr(), redisconn.Opts{
		AsyncDial: true, IOTimeout: time.Minute, Logger: log, NoClientInfo: true,
		Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
			socket, err := (&net.Dialer{}).DialContext(ctx, network, addr)
			return &hooked{Conn: socket, closed: func() { close(read) }}, err
		},
	})
	o := sendTo(conn, "GET", "key")
	eventually(t, "it is in flight", func() bool { return len(s.Requests()) > 1 })
	conn.Close()
	close(reply)
	<-read // the reader has read the reply, and has ended the session
	close(log.wait)
	err := requireUnknown(t, o.wait(t), redis.ErrIO)
	require.NotContains(t, err.Error(), "unsolicited")
	eventually(t, "the end", func() bool { return log.count("ContextClosed") == 1 })
	requireType(t, event[redisconn.LogDisconnected](&log.recorder).Error, redis.ErrContextClosed)
}
