package redisconn_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/testbed"
)

// A logger that panics must not cost a request its result.
func TestReqStatThatPanics(t *testing.T) {
	s := testbed.NewServer(t)
	conn := connect(t, s.Addr(), redisconn.Opts{Logger: &panickyLogger{}})
	require.Equal(t, []byte("1"), send(conn, "ECHO", 1).wait(t))
	require.Equal(t, []byte("2"), send(conn, "ECHO", 2).wait(t))
}

type panickyLogger struct{ recorder }

func (*panickyLogger) ReqStat(*redisconn.Connection, redis.Request, any, int64, int64, int64) {
	panic("on purpose")
}

// A logger that ends the goroutine must not either, nor the right to read where it
// is a caller's goroutine that reads.
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
			_ = sync.Do("ECHO", 1) // ends here, or with the reader
		}()
		<-ended
		eventually(t, "answers again", func() bool { return send(conn, "GET", "key").wait(t) == nil })
	}
	require.Equal(t, []byte("2"), send(conn, "ECHO", 2).wait(t))
}

type exitingLogger struct{ recorder }

func (*exitingLogger) ReqStat(_ *redisconn.Connection, req redis.Request, _ any, _, _, _ int64) {
	if req.Cmd == "ECHO" {
		runtime.Goexit()
	}
}
