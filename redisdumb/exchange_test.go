package redisdumb_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisdumb"
	"github.com/joomcode/redispipe/redistest/chaos"
	"github.com/joomcode/redispipe/testbed"
)

// fake starts a server that calls serve for each connection. nth is the number of the connection, from 1 on.
func fake(t *testing.T, serve func(conn net.Conn, nth int)) (addr string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var all sync.WaitGroup
	all.Go(func() { // ends with the listener
		for nth := 1; ; nth++ {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				serve(conn, nth)
				_ = conn.Close()
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		all.Wait()
	})
	return l.Addr().String()
}

// answer reads as many bytes as request has and writes reply.
func answer(conn net.Conn, request, reply string) {
	_, _ = io.ReadFull(conn, make([]byte, len(request)))
	_, _ = io.WriteString(conn, reply)
}

const ping = "*1\r\n$4\r\nPING\r\n"

func pings(n int) []redis.Request {
	reqs := make([]redis.Request, n)
	for i := range reqs {
		reqs[i] = redis.Req("PING")
	}
	return reqs
}

func TestSendManyInOrder(t *testing.T) {
	conn := newConn(t, testbed.NewServer(t).Addr())
	var reqs []redis.Request
	for i := range 3000 {
		reqs = append(reqs, redis.Req("ECHO", fmt.Sprint(i)))
	}
	reqs = append(reqs, redis.Req("ECHO", strings.Repeat("x", 1<<20)), redis.Req("ECHO", "last"))
	results := redis.Sync{S: conn}.SendMany(reqs)
	for i, res := range results {
		want := reqs[i].Args[0].(string)
		require.True(t, string(res.([]byte)) == want, "result %d", i)
	}
}

// A pipeline must not hang if the server stops reading until its replies are read.
func TestSendManyDoesNotDeadlock(t *testing.T) {
	reply := "$65536\r\n" + strings.Repeat("x", 65536) + "\r\n"
	addr := fake(t, func(conn net.Conn, _ int) {
		for range 2000 {
			answer(conn, ping, reply) // blocks when the client does not read
		}
	})
	conn := newConn(t, addr)
	conn.Timeout = time.Minute
	for _, res := range (redis.Sync{S: conn}).SendMany(pings(2000)) {
		require.Len(t, res, 65536)
	}
}

func TestSendManyMalformed(t *testing.T) {
	conn := newConn(t, testbed.NewServer(t).Addr())
	var got collector
	conn.SendMany([]redis.Request{
		redis.Req("INCR", "n"), redis.Req("SET", "n", struct{}{}), redis.Req("INCR", "n"),
	}, &got, 0)
	require.Len(t, got.results, 3)
	types := []string{}
	for _, res := range got.results {
		err := redis.AsErrorx(res)
		require.NotNil(t, err)
		assert.True(t, err.HasTrait(redis.ErrTraitNotSent), "%v", err)
		types = append(types, err.Type().FullName())
	}
	batch, own := redis.ErrBatchFormat.FullName(), redis.ErrArgumentType.FullName()
	assert.Equal(t, []string{batch, own, batch}, types)
	assert.Nil(t, conn.Do("GET", "n"))
}

// If the socket breaks, answered requests keep their replies, written ones are unknown, and the
// rest is not sent.
func TestSendManyOnABreakingSocket(t *testing.T) {
	addr := fake(t, func(conn net.Conn, _ int) { answer(conn, ping, "+PONG\r\n") })
	const total = 5000 // requests, in several chunks
	results := redis.Sync{S: newConn(t, addr)}.SendMany(pings(total))
	assert.Equal(t, "PONG", results[0])
	unknown, unsent := 0, 0
	for _, res := range results[1:] {
		err := redis.AsErrorx(res)
		require.NotNil(t, err)
		require.True(t, err.IsOfType(redis.ErrIO), "%v", err)
		if err.HasTrait(redis.ErrTraitNotSent) {
			unsent++
		} else {
			require.Zero(t, unsent, "unknown after not sent")
			unknown++
		}
	}
	assert.Equal(t, 16<<10/len(ping)-1, unknown)
	assert.Equal(t, total-1-unknown, unsent)
}

func TestDoubtfulReplies(t *testing.T) {
	for name, reply := range map[string]string{
		"garbage":            "hello\r\n",
		"negative length":    "$-2\r\n",
		"one reply too many": "+PONG\r\n+PONG\r\n",
		"cut off":            "$10\r\nabc",
		"nothing":            "",
	} {
		t.Run(name, func(t *testing.T) {
			addr := fake(t, func(conn net.Conn, nth int) {
				if nth == 1 {
					answer(conn, ping, reply)
				} else {
					answer(conn, ping, "+again\r\n")
				}
			})
			conn := newConn(t, addr)
			err := redis.AsErrorx(conn.Do("PING"))
			require.NotNil(t, err)
			assert.False(t, err.IsOfType(redis.ErrResult), "%v", err)
			assert.False(t, err.HasTrait(redis.ErrTraitNotSent), "%v", err)
			assert.Equal(t, "again", conn.Do("PING"), "the socket is dialed anew")
		})
	}
}

// If there is one reply too many in the middle of a pipeline, the next request is not sent, so it does not
// get that reply.
func TestReplyTooManyInTheMiddle(t *testing.T) {
	reqs := []redis.Request{redis.Req("ECHO", strings.Repeat("x", 16<<10)), redis.Req("PING")}
	first, err := redis.AppendRequest(nil, reqs[0])
	require.NoError(t, err)
	addr := fake(t, func(conn net.Conn, _ int) {
		answer(conn, string(first), "+first\r\n+extra\r\n")
		answer(conn, ping, "+PONG\r\n")
	})
	results := redis.Sync{S: newConn(t, addr)}.SendMany(reqs)
	require.True(t, redis.AsErrorx(results[0]).IsOfType(redis.ErrResponseUnexpected), "%v", results[0])
	require.Equal(t, redis.OutcomeNotSent, redis.OutcomeOf(results[1]))
}

func TestTransaction(t *testing.T) {
	server := testbed.NewServer(t)
	conn := newConn(t, server.Addr())
	tx := func(reqs ...redis.Request) ([]any, error) {
		return redis.Sync{S: conn}.SendTransaction(reqs)
	}
	results, err := tx(redis.Req("INCR", "n"), redis.Req("ECHO", "x"))
	require.NoError(t, err)
	assert.Equal(t, []any{int64(1), []byte("x")}, results)

	results, err = tx(redis.Req("SET", "text", "x"), redis.Req("INCR", "text"))
	require.NoError(t, err)
	req, _ := redis.AsErrorx(results[1]).Property(redis.EKRequest)
	assert.Equal(t, redis.Req("INCR", "text"), req)

	results, err = tx()
	require.NoError(t, err)
	assert.Empty(t, results)

	_, err = tx(redis.Req("INCR", "n"), redis.Req("NOSUCHCOMMAND"))
	assert.True(t, redis.AsErrorx(err).IsOfType(redis.ErrExecAbort), "%v", err)
	assert.ErrorContains(t, err, "the request at index 1 was refused")
	assert.ErrorContains(t, err, "ERR unknown command")

	_, err = tx(redis.Req("INCR", "n"), redis.Req("SET", "n", struct{}{}))
	assert.True(t, redis.AsErrorx(err).IsOfType(redis.ErrBatchFormat), "%v", err)

	require.Equal(t, "OK", conn.Do("WATCH", "n"))
	require.Equal(t, int64(2), server.Do("INCR", "n"))
	_, err = tx(redis.Req("INCR", "n"))
	assert.True(t, redis.AsErrorx(err).IsOfType(redis.ErrExecEmpty), "%v", err)
	assert.Equal(t, []byte("2"), conn.Do("GET", "n"))
}

// When MULTI is refused the commands must not run one by one.
func TestTransactionRefused(t *testing.T) {
	server := testbed.NewServer(t, testbed.Options{ACL: []string{"alice on >secret ~* +@all -multi"}})
	conn := newConn(t, server.Addr())
	require.Equal(t, "OK", conn.Do("AUTH", "alice", "secret"))
	_, err := redis.Sync{S: conn}.SendTransaction([]redis.Request{redis.Req("INCR", "n")})
	assert.True(t, redis.AsErrorx(err).IsOfType(redis.ErrResult), "%v", err)
	assert.Nil(t, conn.Do("GET", "n"))
}

// The reply to EXEC must have a result for each request.
func TestTransactionCountsResults(t *testing.T) {
	for _, exec := range []string{"*0\r\n", "*2\r\n:1\r\n:2\r\n"} {
		server := chaos.NewScripted(t, chaos.ScriptedOpts{Handler: func(c *chaos.ScriptedConn, r chaos.ScriptedRequest) error {
			reply := map[string]string{"EXEC": exec, "MULTI": "+OK\r\n"}[r.Cmd]
			if reply == "" {
				reply = "+QUEUED\r\n"
			}
			_, err := c.Write([]byte(reply))
			return err
		}})
		_, err := redis.Sync{S: newConn(t, server.Addr())}.SendTransaction([]redis.Request{redis.Req("INCR", "n")})
		assert.True(t, redis.AsErrorx(err).IsOfType(redis.ErrTransaction), "%v", err)
		assert.Equal(t, redis.OutcomeUnknown, redis.OutcomeOf(err))
	}
}

func TestErrorsShowNoArguments(t *testing.T) {
	addr := fake(t, func(conn net.Conn, _ int) { answer(conn, ping, "") })
	res := redisdumb.Do(addr, "AUTH", "canary")
	assert.NotContains(t, fmt.Sprintf("%v %+v", res, res), "canary")
}

// A command that begins or ends a transaction can't be a part of one.
func TestTransactionRefusesItsBounds(t *testing.T) {
	conn := newConn(t, testbed.NewServer(t).Addr())
	for _, bad := range []string{"EXEC", "discard", "MULTI", "WATCH n"} {
		_, err := redis.Sync{S: conn}.SendTransaction([]redis.Request{redis.Req("INCR", "n"), redis.Req(bad)})
		assert.ErrorContains(t, err, redis.ErrCommandForbidden.String(), bad)
	}
	assert.Nil(t, conn.Do("GET", "n"))
}

// If Close interrupts a transaction, the remaining requests do not run on another socket, where they would
// be outside of the transaction.
func TestTransactionIsClosed(t *testing.T) {
	var outside, whole atomic.Int64
	addr := fake(t, func(conn net.Conn, _ int) {
		multi := false
		for r := bufio.NewReader(conn); ; {
			res, _ := redis.ReadResponse(r)
			words, err := redis.As[[]string](res)
			if err != nil {
				return
			}
			reply := "+QUEUED\r\n"
			switch {
			case words[0] == "MULTI":
				multi, reply = true, "+OK\r\n"
			case !multi:
				outside.Add(1)
			case words[0] == "EXEC":
				whole.Add(1)
				multi, reply = false, "*1\r\n:1\r\n"
			}
			if _, err := conn.Write([]byte(reply)); err != nil {
				return
			}
		}
	})
	conn := newConn(t, addr)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 5000 {
			_, _ = redis.Sync{S: conn}.SendTransaction([]redis.Request{redis.Req("INCR", "n")})
		}
	}()
	for {
		select {
		case <-done:
			require.Zero(t, outside.Load())
			t.Log(whole.Load(), "transactions were whole")
			return
		default:
			conn.Close()
			runtime.Gosched() // on one processor, the other goroutines would otherwise wait for long
		}
	}
}

// If a proxy answers with its own error, it is unknown whether the request has run, and the socket stays
// open.
func TestErrorsOfProxies(t *testing.T) {
	server := chaos.NewScripted(t, chaos.ScriptedOpts{Handler: func(c *chaos.ScriptedConn, r chaos.ScriptedRequest) error {
		_, err := io.WriteString(c, map[string]string{
			"INCR": "-upstream failure\r\n", "DEL": "-ERR Connection refused\r\n", "GET": "-ERR no such thing\r\n",
		}[r.Cmd])
		return err
	}})
	c := newConn(t, server.Addr())
	for cmd, want := range map[string]redis.Outcome{"INCR": redis.OutcomeUnknown, "DEL": redis.OutcomeUnknown, "GET": redis.OutcomeRefused} {
		res := c.Do(cmd, "k")
		require.Equal(t, want, redis.OutcomeOf(res), cmd)
		require.Equal(t, want == redis.OutcomeUnknown, redis.AsErrorx(res).IsOfType(redis.ErrProxy))
	}
	require.Equal(t, 1, server.Accepted())
}
