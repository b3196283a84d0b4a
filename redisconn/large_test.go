package redisconn_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/conntest"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest/chaos"
	"github.com/joomcode/redispipe/testbed"
)

// big is a value whose reply is large.
var big = strings.Repeat("x", 1<<20)

// requireBig requires that a result is big, and does not show it otherwise.
func requireBig(t *testing.T, res any) {
	t.Helper()
	require.NoError(t, redis.AsError(res))
	require.True(t, bytes.Equal([]byte(big), res.([]byte)))
}

// apart reads until a read of the key has run apart.
func apart(t *testing.T, conn *redisconn.Connection, key string) {
	t.Helper()
	before := conn.Stats().Dedicated.Values
	eventually(t, "a read runs apart", func() bool {
		require.NoError(t, redis.AsError(redis.Sync{S: conn}.Do("GET", key)))
		return conn.Stats().Dedicated.Values > before
	})
}

// Reads run apart while their replies are large, whatever numbers their keys contain.
func TestLargeReadsRunApart(t *testing.T) {
	s := testbed.NewServer(t)
	conn := connect(t, s.Addr(), quiet)
	client := redis.Sync{S: conn}
	runsApart := func(cmd string, args ...any) bool {
		before := conn.Stats().Dedicated.Values
		require.NoError(t, redis.AsError(client.Do(cmd, args...)))
		return conn.Stats().Dedicated.Values > before
	}
	require.Equal(t, "OK", client.Do("MSET", "blob:1", big, "blob:23", big, "small", "v"))
	apart(t, conn, "blob:1")
	require.True(t, runsApart("GET", "blob:23"))
	requireBig(t, client.Do("get", "blob:23"))
	var into []byte
	require.NoError(t, client.DoInto(&into, "GET", "blob:1"))
	requireBig(t, into)
	require.Equal(t, uint64(3+1), conn.Stats().Dedicated.Values)

	require.False(t, runsApart("GET", "small"))
	require.False(t, runsApart("STRLEN", "blob:1"))
	require.False(t, runsApart("SET", "blob:1", "now small"))
	requireBig(t, sendTo(conn, "GET", "blob:23").Wait(t))
	require.Equal(t, uint64(3+1), conn.Stats().Dedicated.Values, "nobody waits for it in the goroutine that sends it")
	require.True(t, runsApart("GET", "blob:1"), "this one")
	require.False(t, runsApart("GET", "blob:1"), "no other after a small reply")
}

// A read that runs apart sees all that its goroutine has sent before, even without waiting.
func TestLargeReadsKeepOrder(t *testing.T) {
	s := testbed.NewServer(t)
	conn := connect(t, s.Addr(), quiet)
	client := redis.Sync{S: conn}
	require.Equal(t, "OK", client.Do("SET", "blob", big))
	apart(t, conn, "blob")
	before := conn.Stats().Dedicated.Values
	const rounds = 20
	for i := range rounds {
		begin := fmt.Sprint("version ", i, " ")
		write := sendTo(conn, "SET", "blob", begin+big)
		res := client.Do("GET", "blob")
		require.Equal(t, begin, string(res.([]byte)[:len(begin)]))
		require.Equal(t, "OK", write.Wait(t))
	}
	require.Equal(t, before+rounds, conn.Stats().Dedicated.Values)
}

// Behind a proxy no read runs apart: the proxy may answer PING itself, and close the connection at INFO.
func TestLargeReadsBehindProxies(t *testing.T) {
	s := peer(t, func(r chaos.ScriptedRequest) string {
		switch r.Cmd {
		case "PING":
			return "+PONG\r\n"
		case "INFO":
			return "close"
		case "GET":
			return chaos.ScriptedBulk(big)
		}
		return ""
	})
	conn := connect(t, s.Addr(), quiet)
	for range 4 {
		requireBig(t, redis.Sync{S: conn}.Do("GET", "blob"))
	}
	require.Zero(t, conn.Stats().Disconnects)
	require.Zero(t, conn.Stats().Dedicated.Connects)
}

// Reads that would exceed a bound don't wait for a dedicated connection.
func TestLargeReadsAreBounded(t *testing.T) {
	long := "blob:" + strings.Repeat("1", 200)
	for name, bound := range map[string]func(*redisconn.Opts){
		"MaxBytes":    func(o *redisconn.Opts) { o.MaxBytes = 300 },
		"MaxRequests": func(o *redisconn.Opts) { o.MaxRequests = 1 },
	} {
		t.Run(name, func(t *testing.T) {
			s := newApartServer(t)
			opts := lasting
			opts.DedicatedConns = 1
			bound(&opts)
			conn := connect(t, s.Addr(), opts)
			apart(t, conn, "blob:1")
			release, gets := hold(&s.get), s.gets.Load()
			reads := []<-chan any{doing(t.Context(), conn, "GET", "blob:1")}
			eventually(t, "it runs", func() bool { return s.gets.Load() > gets })
			reads = append(reads, doing(t.Context(), conn, "GET", long))
			eventually(t, "it waits", func() bool { return conn.Pending() == len(reads) })
			requireBig(t, conntest.Await(t, "another read", doing(t.Context(), conn, "GET", long)))
			release()
			for _, read := range reads {
				requireBig(t, conntest.Await(t, "a read", read))
			}
		})
	}
}
