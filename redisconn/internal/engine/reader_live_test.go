package engine_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/joomcode/errorx"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/conntest"
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
			require.Equal(t, "fine", sendTo(conn, "GOOD").Wait(t))
			both := newOutcomes(2)
			conn.SendMany([]redis.Request{redis.Req("BAD"), redis.Req("GOOD")}, both, 0)
			results := both.Wait(t)
			requireUnknown(t, results[0], c.want)
			requireUnknown(t, results[1], redis.ErrIO)
			eventually(t, "connected again", func() bool { return log.Count("Connected") == 2 })
			requireType(t, conntest.Event[redisconn.LogDisconnected](log).Error, c.want)
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
			requireUnknown(t, sendTo(conn, "GET", "key").Wait(t), redis.ErrIO)
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
			requireUnknown(t, sendTo(conn, "GET", "key").Wait(t), redis.ErrUnknownHeaderType)
		})
	}
}

func TestReplyNobodyAskedFor(t *testing.T) {
	s := chaos.NewScripted(t, chaos.ScriptedOpts{})
	log := &recorder{}
	conn := connect(t, s.Addr(), redisconn.Opts{Logger: log})
	s.Broadcast([]byte("+surprise\r\n"))
	eventually(t, "disconnected", func() bool { return log.Count("Disconnected") == 1 })
	requireType(t, conntest.Event[redisconn.LogDisconnected](log).Error, redis.ErrResponseUnexpected)
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
	require.Zero(t, log.Count("Disconnected"))
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
			requireUnknown(t, sendTo(conn, "END").Wait(t), redis.ErrIO)
			eventually(t, "connected again", conn.ConnectedNow)
			require.Equal(t, "OK", redis.Sync{S: conn}.Do("GET", "key"))
			eventually(t, "told", func() bool { return log.Count("Disconnected") == 1 })
			requireType(t, conntest.Event[redisconn.LogDisconnected](log).Error, redis.ErrIO)
		})
	}
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
			requireUnknown(t, o.Wait(t), redis.ErrIO)
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
			return &conntest.Socket{Conn: socket, OnClose: func() { close(read) }}, err
		},
	})
	o := sendTo(conn, "GET", "key")
	eventually(t, "it is in flight", func() bool { return len(s.Requests()) > 1 })
	conn.Close()
	close(reply)
	<-read // the reader has read the reply, and has ended the session
	close(log.wait)
	err := requireUnknown(t, o.Wait(t), redis.ErrIO)
	require.NotContains(t, err.Error(), "unsolicited")
	eventually(t, "the end", func() bool { return log.Count("ContextClosed") == 1 })
	requireType(t, conntest.Event[redisconn.LogDisconnected](&log.recorder).Error, redis.ErrContextClosed)
}

// When nobody has had the right to read for a while, the reader goroutine takes it, even if no
// request comes.
func TestReaderRestsForAWhile(t *testing.T) {
	s := chaos.NewScripted(t, chaos.ScriptedOpts{})
	for _, script := range []bool{false, true} {
		conn := lone(t, s.Addr(), redisconn.Opts{IOTimeout: time.Minute, ScriptMode: script})
		before := s.Accepted()
		s.Broadcast([]byte("+STRAY\r\n"))
		eventually(t, "stray reply ends the connection", func() bool { return s.Accepted() > before })
		eventually(t, "the next connection", conn.ConnectedNow)
		require.Equal(t, "OK", redis.Sync{S: conn}.Do("GET", "key"))
		conn.Close()
	}
}

// The reader reads replies while a long batch is being written. A server that answers one request
// after another reads no more requests until its replies are read.
func TestReaderReadsDuringALongWrite(t *testing.T) {
	value := strings.Repeat("v", 256<<10)
	s := chaos.NewScripted(t, chaos.ScriptedOpts{Handler: func(c *chaos.ScriptedConn, r chaos.ScriptedRequest) error {
		_, err := fmt.Fprintf(c, "$%d\r\n%s\r\n", len(value), value)
		return err
	}})
	conn := lone(t, s.Addr(), redisconn.Opts{})
	reqs := make([]redis.Request, 100)
	for i := range reqs {
		reqs[i] = redis.Req("SET", "key", value)
	}
	for _, res := range (redis.Sync{S: conn}).SendMany(reqs) {
		require.NoError(t, redis.AsError(res))
	}
}

// With RESP3 no caller reads for itself, because the next bytes may be a push.
func TestPushesBesideALoneCaller(t *testing.T) {
	s := chaos.NewScripted(t, chaos.ScriptedOpts{})
	conn := lone(t, s.Addr(), redisconn.Opts{Protocol: 3})
	for range 20 {
		s.Broadcast([]byte(">2\r\n+invalidate\r\n*1\r\n$3\r\nkey\r\n"))
		require.Equal(t, "OK", redis.Sync{S: conn}.Do("GET", "key"))
	}
	require.Equal(t, 1, s.Accepted())
}
