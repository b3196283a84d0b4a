package redisconn_test

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/conntest"
	"github.com/joomcode/redispipe/internal/lab/virtualtime"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/testbed"
)

// If a logger panics, the request still gets its result.
func TestReqStatThatPanics(t *testing.T) {
	s := testbed.NewServer(t)
	conn := connect(t, s.Addr(), redisconn.Opts{Logger: &panickyLogger{}})
	require.Equal(t, []byte("1"), sendTo(conn, "ECHO", 1).Wait(t))
	require.Equal(t, []byte("2"), sendTo(conn, "ECHO", 2).Wait(t))
}

// A logger does not get passwords, however AUTH is spelled.
func TestReqStatWithoutAuth(t *testing.T) {
	s := testbed.NewServer(t, testbed.Options{ACL: []string{"alice on >" + canary + " ~* &* +@all"}})
	logger := &namingLogger{}
	conn := connect(t, s.Addr(), redisconn.Opts{ScriptMode: true, Logger: logger})
	sync := redis.Sync{S: conn}
	for _, req := range []redis.Request{
		redis.Req("AUTH", "alice", canary), redis.Req("auth", "alice", canary), redis.Req("Auth alice", canary), redis.Req("aUTH " + canary),
		redis.Req("HELLO", 3, "AUTH", "alice", canary), redis.Req("hello", 3, "auth", "alice", canary),
	} {
		sync.Send(req)
		sync.SendMany([]redis.Request{req, req})
		_, _ = sync.SendTransaction([]redis.Request{req})
	}
	require.Equal(t, []byte("end"), sync.Do("ECHO", "end"))
	require.NotContains(t, logger.text(), canary)
	require.Contains(t, logger.text(), "ECHO")
}

// A logger gets the result of a blocking request, even if the caller's future decodes the reply.
func TestReqStatOfBlocking(t *testing.T) {
	s := testbed.NewServer(t)
	logger := &namingLogger{}
	sync := redis.Sync{S: connect(t, s.Addr(), redisconn.Opts{Logger: logger})}
	require.NoError(t, redis.AsError(s.Do("RPUSH", "from", "element")))
	var element string
	require.NoError(t, sync.DoInto(&element, "BLMOVE", "from", "to", "LEFT", "LEFT", 0))
	require.Equal(t, "element", element)
	require.Contains(t, logger.text(), fmt.Sprintln("BLMOVE", []any{"from", "to", "LEFT", "LEFT", "0"}, []byte("element")))
}

// namingLogger keeps the requests that it gets.
type namingLogger struct {
	recorder
	mu   sync.Mutex // guards seen
	seen strings.Builder
}

func (l *namingLogger) ReqStat(_ *redisconn.Connection, req redis.Request, res any, _, _, _ int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintln(&l.seen, req.Cmd, req.Args, res)
}

func (l *namingLogger) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.seen.String()
}

type panickyLogger struct{ recorder }

func (*panickyLogger) ReqStat(*redisconn.Connection, redis.Request, any, int64, int64, int64) {
	panic("on purpose")
}

// The logger gets every answered request, including the library's own.
func TestReqStatOfHeartbeats(t *testing.T) {
	virtualtime.Run(t, func(t *testing.T) {
		p, _ := conntest.Beats(bulk)
		logger := &namingLogger{}
		conn, err := redisconn.Connect(background, "pipe:1", redisconn.Opts{
			IOTimeout: 600 * time.Millisecond, Logger: logger, Dialer: p.Dial, NoClientInfo: true,
		})
		require.NoError(t, err)
		t.Cleanup(func() {
			conn.Close()
			time.Sleep(time.Minute) // the server notices the end
		})
		time.Sleep(time.Minute)
		require.InDelta(t, 300, strings.Count(logger.text(), "PING"), 2)
	})
}

// If a logger ends its goroutine, the request still gets its result, and the right to read is not
// lost, even if the goroutine is that of a caller that reads.
func TestReqStatThatExits(t *testing.T) {
	s := testbed.NewServer(t)
	conn := connect(t, s.Addr(), redisconn.Opts{IOTimeout: time.Minute, ReconnectPause: time.Millisecond, Logger: &exitingLogger{}})
	sync := redis.Sync{S: conn}
	for range 50 {
		for range 10 { // so that the next caller reads its own reply
			require.Nil(t, sync.Do("GET", "key"))
		}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_ = sync.Do("ECHO", 1) // the goroutine ends here, or in the reader
		}()
		<-ended
		eventually(t, "answers again", func() bool { return sendTo(conn, "GET", "key").Wait(t) == nil })
	}
	require.Equal(t, []byte("2"), sendTo(conn, "ECHO", 2).Wait(t))
}

type exitingLogger struct{ recorder }

func (*exitingLogger) ReqStat(_ *redisconn.Connection, req redis.Request, _ any, _, _, _ int64) {
	if req.Cmd == "ECHO" {
		runtime.Goexit()
	}
}
