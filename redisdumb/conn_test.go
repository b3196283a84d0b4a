package redisdumb_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisdumb"
	"github.com/joomcode/redispipe/redistest/chaos"
	"github.com/joomcode/redispipe/testbed"
)

func TestMain(m *testing.M) {
	testbed.RequireRedis()
	os.Exit(m.Run())
}

// collector keeps the results of its requests.
type collector struct {
	results   []any
	ns        []uint64
	cancelled error
}

func (c *collector) Resolve(res any, n uint64) {
	c.results, c.ns = append(c.results, res), append(c.ns, n)
}

func (c *collector) Cancelled() error { return c.cancelled }

func newConn(t *testing.T, addr string) *redisdumb.Conn {
	conn := &redisdumb.Conn{Addr: addr}
	t.Cleanup(conn.Close)
	return conn
}

func TestDo(t *testing.T) {
	server := testbed.NewServer(t)
	assert.Equal(t, "OK", redisdumb.Do(server.Addr(), "SET", "key", 1.5))
	assert.Equal(t, []byte("1.5"), redisdumb.Do(server.Addr(), "GET", "key"))
}

func TestConnResults(t *testing.T) {
	conn := newConn(t, testbed.NewServer(t).Addr())
	assert.Equal(t, "PONG", conn.Do("PING"))
	assert.Equal(t, int64(2), conn.Do("RPUSH", "list", "a", []byte("b")))
	assert.Equal(t, []any{[]byte("a"), []byte("b")}, conn.Do("LRANGE", "list", 0, -1))
	assert.Nil(t, conn.Do("GET", "absent"))
	assert.Equal(t, []any{[]byte("databases"), []byte("16")}, conn.Do("CONFIG GET", "databases"))

	err := redis.AsErrorx(conn.Do("INCR", "list"))
	require.NotNil(t, err)
	assert.True(t, err.IsOfType(redis.ErrResult), "%v", err)
	request, _ := err.Property(redis.EKRequest)
	assert.Equal(t, redis.Req("INCR", "list"), request)
	assert.Equal(t, "PONG", conn.Do("PING"), "a server error leaves the socket alive")
}

func TestConnRefuses(t *testing.T) {
	conn := newConn(t, testbed.NewServer(t).Addr())
	for _, cmd := range []string{"SUBSCRIBE", "monitor", "CLIENT REPLY"} {
		err := redis.AsErrorx(conn.Do(cmd, "x"))
		require.NotNil(t, err, cmd)
		assert.True(t, err.IsOfType(redis.ErrCommandForbidden), "%v", err)
	}
	for _, req := range []redis.Request{
		redis.Req("SELECT", 1), redis.Req("READONLY"), redis.Req("WATCH", "a"), redis.Req("MULTI"), redis.Req("DISCARD"),
	} {
		err := redis.AsErrorx(conn.Do(req.Cmd, req.Args...))
		assert.False(t, err != nil && err.IsOfType(redis.ErrCommandForbidden), "%v", err)
	}
	assert.Error(t, redis.AsError(conn.Do("")))
	assert.Error(t, redis.AsError(conn.Do("GET a b c")))
}

func TestConnKeepsItsSocket(t *testing.T) {
	conn := newConn(t, testbed.NewServer(t).Addr())
	id := conn.Do("CLIENT ID")
	require.NoError(t, redis.AsError(id))
	assert.Equal(t, id, conn.Do("CLIENT ID"))
	conn.Close()
	assert.NotEqual(t, id, conn.Do("CLIENT ID"), "Close ends the socket, a later call dials")
}

func TestConnFutures(t *testing.T) {
	conn := newConn(t, testbed.NewServer(t).Addr())
	var got collector
	conn.Send(redis.Req("ECHO", "x"), &got, 7)
	conn.SendMany([]redis.Request{redis.Req("ECHO", "a"), redis.Req("ECHO", "b")}, &got, 10)
	assert.Equal(t, []any{[]byte("x"), []byte("a"), []byte("b")}, got.results)
	assert.Equal(t, []uint64{7, 10, 11}, got.ns)

	conn.Send(redis.Req("SET", "key", "nil future"), nil, 0)
	conn.SendMany(nil, nil, 0)
	conn.SendTransaction([]redis.Request{redis.Req("INCR", "n")}, nil, 0)
	assert.Equal(t, []byte("nil future"), conn.Do("GET", "key"))
	assert.Equal(t, []byte("1"), conn.Do("GET", "n"))
}

func TestConnCallbackMaySend(t *testing.T) {
	conn := newConn(t, testbed.NewServer(t).Addr())
	var inner any
	conn.Send(redis.Req("PING"), redis.FuncFuture(func(any, uint64) {
		inner = conn.Do("ECHO", "inner")
		conn.Close()
	}), 0)
	assert.Equal(t, []byte("inner"), inner)
}

func TestConnCancelledFuture(t *testing.T) {
	conn := newConn(t, testbed.NewServer(t).Addr())
	cause := errors.New("gave up")
	got := collector{cancelled: cause}
	incr := redis.Req("INCR", "n")
	conn.Send(incr, &got, 0)
	conn.SendMany([]redis.Request{incr, incr}, &got, 0)
	conn.SendTransaction([]redis.Request{incr}, &got, 0)
	require.Len(t, got.results, 4)
	for _, res := range got.results {
		err := redis.AsErrorx(res)
		require.NotNil(t, err)
		assert.True(t, err.IsOfType(redis.ErrRequestCancelled), "%v", err)
		assert.True(t, err.HasTrait(redis.ErrTraitNotSent), "%v", err)
		assert.Equal(t, cause, err.Cause())
	}
	assert.Nil(t, conn.Do("GET", "n"))
}

func TestConnManyGoroutines(t *testing.T) {
	conn := newConn(t, testbed.NewServer(t).Addr())
	var all sync.WaitGroup
	for g := range 20 {
		all.Go(func() {
			for i := range 50 {
				want := fmt.Sprintf("%d-%d", g, i)
				if res, _ := conn.Do("ECHO", want).([]byte); string(res) != want {
					t.Errorf("got %q instead of %q", res, want)
				}
			}
		})
	}
	all.Wait()
}

func TestConnCloseInterrupts(t *testing.T) {
	server := testbed.NewServer(t)
	conn := newConn(t, server.Addr())
	conn.Timeout = -1
	done := make(chan any, 1)
	go func() { done <- conn.Do("BLPOP", "nothing", 0) }()
	require.Eventually(t, func() bool {
		info, _ := server.Do("INFO", "clients").([]byte)
		return bytes.Contains(info, []byte("blocked_clients:1\r\n"))
	}, 10*time.Second, 5*time.Millisecond)
	conn.Close()
	select {
	case res := <-done:
		err := redis.AsErrorx(res)
		require.NotNil(t, err)
		assert.True(t, err.IsOfType(redis.ErrIO), "%v", err)
		assert.False(t, err.HasTrait(redis.ErrTraitNotSent), "%v", err)
	case <-time.After(10 * time.Second):
		t.Fatal("Close did not end the call")
	}
}

func TestConnScanner(t *testing.T) {
	conn := newConn(t, testbed.NewServer(t).Addr())
	want := map[string]bool{}
	for i := range 300 {
		key := fmt.Sprintf("key:%d", i)
		want[key] = true
		require.Equal(t, "OK", conn.Do("SET", key, i))
	}
	require.Equal(t, "OK", conn.Do("SET", "other", 0))
	scan := redis.SyncCtx{S: conn}.Scanner(context.Background(), redis.ScanOpts{Match: "key:*"})
	got := map[string]bool{}
	for {
		keys, err := scan.Next()
		if err == redis.ScanEOF {
			break
		}
		require.NoError(t, err)
		for _, key := range keys {
			got[key] = true
		}
	}
	assert.Equal(t, want, got)

	failing := redis.Sync{S: conn}.Scanner(redis.ScanOpts{Cmd: "HSCAN", Key: "other"})
	for range 2 {
		_, err := failing.Next()
		assert.True(t, redis.AsErrorx(err).IsOfType(redis.ErrResult), "%v", err)
	}
}

func TestConnEachShard(t *testing.T) {
	conn := newConn(t, testbed.NewServer(t).Addr())
	calls := 0
	conn.EachShard(func(s redis.Sender, err error) bool {
		calls++
		assert.NoError(t, err)
		assert.Equal(t, "PONG", redis.Sync{S: s}.Do("PING"))
		return true
	})
	assert.Equal(t, 1, calls)
}

// The text of an error does not contain arguments that the server quotes.
func TestConnErrorsShowNoArguments(t *testing.T) {
	server := testbed.NewServer(t)
	conn := newConn(t, server.Addr())
	require.Equal(t, int64(1), conn.Do("GEOADD", "geo", 1, 1, "member"))
	for _, req := range []redis.Request{
		redis.Req("GEOADD", "geo", 12345678, 12345678, "canary"),
		redis.Req("GEOSEARCH", "geo", "FROMLONLAT", 12345678, 1, "BYRADIUS", 1, "m"),
		redis.Req("GEOSEARCH", "geo", "FROMMEMBER", "canary", "BYRADIUS", 1, "m"),
		redis.Req("EVAL", "return redis.call('GEOADD', KEYS[1], ARGV[1], ARGV[1], 'x')", 1, "geo", 12345678),
		redis.Req("FUNCTION LOAD", "canary"),
		redis.Req("FUNCTION LOAD", "#!canary name=lib\n"),
		redis.Req("FUNCTION DELETE", "canary"),
		redis.Req("ACL DRYRUN", "canary", "GET", "k"),
		redis.Req("ACL DRYRUN", "default", "canary", "k"),
		redis.Req("ACL SETUSER", "u", ">canary", "canary"),
		redis.Req("CONFIG SET", "maxmemory", "canary"),
		redis.Req("CONFIG SET", "canary", "1"),
		redis.Req("OBJECT", "canary", "k"),
		redis.Req("XREADGROUP", "GROUP", "canary", "c", "STREAMS", "canary", ">"),
		redis.Req("SET", "k", "v", "canary"),
	} {
		res := conn.Do(req.Cmd, req.Args...)
		err := redis.AsError(res)
		if !assert.Error(t, err, "%v: %v", req, res) {
			continue
		}
		for _, text := range []string{err.Error(), fmt.Sprintf("%+v", err), fmt.Sprintf("%#v", err)} {
			assert.NotContains(t, text, "canary", "%v", req)
			assert.NotContains(t, text, "12345678", "%v", req)
		}
	}
}

// panicking is a future that panics when its first request is resolved.
type panicking struct{ collector }

func (p *panicking) Resolve(res any, n uint64) {
	p.collector.Resolve(res, n)
	if n == 1 {
		panic("the first")
	}
}

// The panic of a future is logged, and all requests are resolved, each once.
func TestConnFuturePanics(t *testing.T) {
	conn := newConn(t, testbed.NewServer(t).Addr())
	for _, cancelled := range []error{nil, errors.New("cancelled")} {
		p := &panicking{collector{cancelled: cancelled}}
		reqs := []redis.Request{redis.Req("PING"), redis.Req("PING"), redis.Req("PING")}
		var logged bytes.Buffer
		log.SetOutput(&logged)
		conn.SendMany(reqs, p, 1)
		log.SetOutput(os.Stderr)
		require.Contains(t, logged.String(), "a future panicked: the first")
		require.Equal(t, []uint64{1, 2, 3}, p.ns)
	}
	require.Equal(t, "PONG", conn.Do("PING"))
}

// A Conn has one server. If that refuses a request because another server must answer it, a retry is not
// safe, and the error says where to send the request.
func TestAdvice(t *testing.T) {
	replica := testbed.NewServer(t)
	require.Equal(t, "OK", replica.Do("REPLICAOF", "127.0.0.1", 1))
	moved := chaos.NewScripted(t, chaos.ScriptedOpts{Handler: func(c *chaos.ScriptedConn, _ chaos.ScriptedRequest) error {
		_, err := io.WriteString(c, "-MOVED 1 127.0.0.1:1\r\n")
		return err
	}})
	for addr, says := range map[string]string{replica.Addr(): "connect to its master", moved.Addr(): "one of a cluster"} {
		conn := &redisdumb.Conn{Addr: addr}
		defer conn.Close()
		err := redis.AsErrorx(conn.Do("SET", "key", "v"))
		require.ErrorContains(t, err, says)
		require.False(t, redis.SafeToRetry(err), "%v", err)
		require.Equal(t, redis.OutcomeRefused, redis.OutcomeOf(err))
	}
}
