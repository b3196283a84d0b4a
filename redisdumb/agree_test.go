package redisdumb_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/joomcode/errorx"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest/chaos"
	"github.com/joomcode/redispipe/testbed"
)

// shape returns the properties of a result that a program can see, as text.
func shape(res any) string {
	switch res := res.(type) {
	case []any:
		all := make([]string, len(res))
		for i, r := range res {
			all[i] = shape(r)
		}
		return fmt.Sprintf("%q", all)
	case *errorx.Error:
		text := fmt.Sprintf("%v, %v, safe %v: %s", res.Type(), redis.OutcomeOf(res), redis.SafeToRetry(res), res.Message())
		for _, key := range []errorx.Property{redis.EKRequest, redis.EKText, redis.EKArgPos, redis.EKMovedTo, redis.EKSlot} {
			if value, ok := res.Property(key); ok {
				text += fmt.Sprintf(" (%v)", value)
			}
		}
		if cause := errorx.Cast(res.Cause()); cause != nil {
			text += " <- " + shape(cause)
		}
		return text
	}
	return fmt.Sprintf("%T %q", res, res)
}

// agree requires that a Conn returns the same results as a redisconn.Connection, for a transaction and for
// the same requests without one.
func agree(t *testing.T, addr, name string, reqs []redis.Request, before func()) {
	t.Helper()
	conn, err := redisconn.Connect(context.Background(), addr, redisconn.Opts{IOTimeout: time.Minute, Logger: redisconn.NoopLogger{}})
	require.NoError(t, err)
	defer conn.Close()
	var ends []string
	for _, s := range []redis.Sender{conn, newConn(t, addr)} {
		before()
		ended := make(chan string, 1)
		s.SendTransaction(reqs, redis.FuncFuture(func(res any, _ uint64) { ended <- shape(res) }), 0)
		ends = append(ends, <-ended)
	}
	assert.Equal(t, ends[0], ends[1], name)
}

func TestTransactionAsOfRedisconn(t *testing.T) {
	server := testbed.NewServer(t)
	req, bad := redis.Req, struct{}{}
	for name, reqs := range map[string][]redis.Request{
		"empty":         {},
		"values":        {req("SET", "k", "v"), req("INCR", "n"), req("GET", "none"), req("LRANGE", "none", 0, -1)},
		"one fails":     {req("SET", "k", "v"), req("INCR", "k")},
		"all fail":      {req("LPUSH", "k", "v"), req("INCR", "k")},
		"unknown":       {req("SET", "k", "v"), req("NOSUCH", "secret")},
		"two refused":   {req("SET", "k"), req("NOSUCH")},
		"malformed":     {req("GET", "k"), req("SET", "k", bad), req("GET", bad)},
		"no command":    {req("SET", "k"), req("a b c")},
		"MULTI":         {req("GET", "k"), req("MULTI")},
		"and then EXEC": {req("GET", bad), req("EXEC")},
		"SUBSCRIBE":     {req("SUBSCRIBE", "k")},
		"script":        {req("EVAL", "return {1,{err='ERR x'}}", 0), req("EVAL", "return redis.call('nosuch')", 0)},
	} {
		agree(t, server.Addr(), name, reqs, func() { server.Do("SET", "k", "v"); server.Do("DEL", "n") })
	}
}

func TestTransactionOnOddServersAsOfRedisconn(t *testing.T) {
	const abort = "-EXECABORT Transaction discarded because of previous errors.\r\n"
	for _, replies := range []string{ // the server's replies by command; an empty one closes the connection
		"MULTI=+QUEUED", "MULTI=$-1", "SET=", "SET=hello", "EXEC=", "EXEC=hello", "EXEC=*-1", "EXEC=$-1", "EXEC=+x", "EXEC=-OOM x", "EXEC=-LOADING x",
		"EXEC=-MOVED 1 127.0.0.1:1", "EXEC=-READONLY x", "SET=-READONLY x|EXEC=" + abort, "EXEC=*2\r\n-READONLY x\r\n$-1", "EXEC=" + abort, "SET=-LOADING x|EXEC=" + abort, "INCR=-MOVED 1 127.0.0.1:1|EXEC=" + abort,
		"SET=-ERR x|INCR=-MOVED 1 127.0.0.1:1|EXEC=" + abort, "SET=-ERR y|EXEC=*1\r\n:1", "SET=:1", "EXEC=-upstream failure", "EXEC=-ERR Connection timed out", "EXEC=*2\r\n-upstream failure\r\n:1", "SET=-no upstream host|EXEC=" + abort, "EXEC=*2\r\n-MOVED 1 127.0.0.1:1\r\n$-1",
	} {
		server := chaos.NewScripted(t, chaos.ScriptedOpts{Handler: func(c *chaos.ScriptedConn, r chaos.ScriptedRequest) error {
			reply := map[string]string{"MULTI": "+OK", "SET": "+QUEUED", "INCR": "+QUEUED", "EXEC": "*2\r\n+OK\r\n:1"}[r.Cmd]
			for each := range strings.SplitSeq(replies, "|") {
				if odd, ok := strings.CutPrefix(each, r.Cmd+"="); ok {
					reply = odd
				}
			}
			if reply == "" {
				return io.EOF
			}
			_, err := io.WriteString(c, strings.TrimSuffix(reply, "\r\n")+"\r\n")
			return err
		}})
		agree(t, server.Addr(), replies, []redis.Request{redis.Req("SET", "k", "v"), redis.Req("INCR", "n")}, func() {})
	}
}
