package redisconn_test

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/conntest"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest/chaos"
	"github.com/joomcode/redispipe/testbed"
)

// requireNames asserts that an error names its request, and shows none of its
// arguments.
func requireNames(t *testing.T, res any, cmd string, args ...any) {
	t.Helper()
	err := redis.AsErrorx(res)
	require.NotNil(t, err, "%v", res)
	req, named := err.Property(redis.EKRequest)
	require.True(t, named, "%v", err)
	require.Equal(t, redis.Req(cmd, args...), req)
	require.NotContains(t, err.Error(), "secret")
}

// The server's error names the request, no matter how the request was sent.
func TestServerErrorsNameTheRequest(t *testing.T) {
	for _, integrity := range []bool{false, true} {
		s := testbed.NewServer(t)
		conn := connect(t, s.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}, Integrity: integrity})
		require.Equal(t, int64(1), redis.Sync{S: conn}.Do("RPUSH", "list", 1))
		incr, get := redis.Req("INCR", "list"), redis.Req("GET", "free")

		args := []any{[]byte("list"), "secret"}
		raw := sendTo(conn, "SETRANGE", args...)
		copy(args[0].([]byte), "else")
		args[1] = "changed"
		requireNames(t, raw.Wait(t), "SETRANGE", "list", "secret")

		requireNames(t, sendTo(conn, "OBJECT", "secret", "list").Wait(t), "OBJECT", "secret", "list")

		many := newOutcomes(3)
		conn.SendMany(requests(get, incr, get), many, 0)
		results := many.Wait(t)
		require.Nil(t, results[0])
		requireNames(t, results[1], "INCR", "list")

		futures := redis.ChanFutured{S: conn}
		requireNames(t, futures.Send(incr).Value(), "INCR", "list")
		requireNames(t, futures.SendMany(requests(get, incr))[1].Value(), "INCR", "list")

		for _, transact := range []func([]redis.Request) ([]any, error){
			redis.Sync{S: conn}.SendTransaction,
			func(reqs []redis.Request) ([]any, error) { return futures.SendTransaction(reqs).Results() },
		} {
			results, err := transact(requests(get, incr, get))
			require.NoError(t, err)
			requireNames(t, results[1], "INCR", "list")
		}

		_, err := redis.Sync{S: conn}.Scanner(redis.ScanOpts{Cmd: "HSCAN", Key: "list", Match: "secret"}).Next()
		requireNames(t, err, "HSCAN", "list", "0", "MATCH", "secret")
	}
}

// Errors of the connection itself also name the request: if it drops cancelled requests, breaks,
// refuses a batch, or is closed.
func TestConnectionErrorsNameTheRequest(t *testing.T) {
	s := chaos.NewScripted(t, chaos.ScriptedOpts{Handler: func(_ *chaos.ScriptedConn, r chaos.ScriptedRequest) error {
		if r.Cmd == "BREAK" {
			return io.EOF
		}
		return nil // no answer
	}})
	conn, ready := conntest.SlowDial(t, s.Addr(), redisconn.Opts{})
	first, dropped, breaks := sendTo(conn, "GET", "a", "secret"), sendTo(conn, "GET", "b", "secret"), sendTo(conn, "BREAK", "secret")
	dropped.Cancel()
	ready()
	requireNames(t, dropped.Wait(t), "GET", "b", "secret")
	requireNames(t, first.Wait(t), "GET", "a", "secret")
	requireNames(t, breaks.Wait(t), "BREAK", "secret")

	malformed := newOutcomes(2)
	conn.SendMany(requests(redis.Req("GET", "secret"), redis.Req("SET", "k", struct{}{})), malformed, 0)
	results := malformed.Wait(t)
	requireNames(t, results[0], "GET", "secret")
	requireNames(t, results[1], "SET", "k", struct{}{})

	conn.Close()
	requireNames(t, sendTo(conn, "GET", "secret").Wait(t), "GET", "secret")
	closed := newOutcomes(2)
	conn.SendMany(requests(redis.Req("GET", "a"), redis.Req("GET", "secret")), closed, 0)
	requireNames(t, closed.Wait(t)[1], "GET", "secret")
}
