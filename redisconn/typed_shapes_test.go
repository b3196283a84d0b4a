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

// What a server answers in either protocol is read into the same types.
func TestShapes(t *testing.T) {
	type visit struct {
		Page string        `redis:"page"`
		Took time.Duration `redis:"took,ms"`
		Note *string       `redis:"note"`
	}
	s := testbed.NewServer(t)
	setup := redis.Sync{S: connect(t, s.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}})}
	want := visit{Page: "home", Took: 7 * time.Millisecond}
	board := []redis.Scored[string]{{Member: "a", Score: 1.5}, {Member: "b", Score: 2}}
	entries := []redis.Entry[visit]{{ID: "1-0", Value: want}}
	for _, res := range setup.SendMany([]redis.Request{
		redis.Req("HSET", redis.Args("hash", want)...),
		redis.Req("XADD", redis.Args("stream", "1-0", want)...),
		redis.Req("ZADD", redis.Args("board", board)...),
		redis.Req("SET", redis.Args("text", time.Minute, "EX", redis.Seconds(time.Hour))...),
	}) {
		require.NoError(t, redis.AsError(res))
	}
	for _, protocol := range []int{2, 3} {
		conn := connect(t, s.Addr(), redisconn.Opts{Protocol: protocol, Logger: redisconn.NoopLogger{}})
		answers(t, conn, want, "HGETALL", "hash")
		answers(t, conn, want, "HMGET", redis.Args("hash", redis.FieldNames[visit]())...)
		answers(t, conn, (*visit)(nil), "HGETALL", "none")
		answers(t, conn, board, "ZRANGE", "board", 0, -1, "WITHSCORES")
		answers(t, conn, board[:1], "ZRANGEBYSCORE", "board", 0, 1.9, "WITHSCORES")
		answers(t, conn, entries, "XRANGE", "stream", "-", "+")
		answers(t, conn, map[string][]redis.Entry[visit]{"stream": entries}, "XREAD", "STREAMS", "stream", 0)
		answers(t, conn, map[string][]redis.Entry[visit](nil), "XREAD", "STREAMS", "stream", "1-0")
		answers(t, conn, []*uint8{nil}, "HMGET", "hash", "note")
		answers(t, conn, time.Minute, "GET", "text")
		answers(t, conn, redis.Seconds(-2*time.Second), "TTL", "none")

		var fields []redis.Field[string]
		for field, err := range redis.Fields[string](t.Context(), conn, redis.ScanOpts{Key: "hash"}) {
			require.NoError(t, err)
			fields = append(fields, field)
		}
		require.ElementsMatch(t, []redis.Field[string]{{Name: "page", Value: "home"}, {Name: "took", Value: "7"}}, fields)
		var scored []redis.Scored[string]
		for member, err := range redis.ScoredMembers[string](t.Context(), conn, redis.ScanOpts{Key: "board"}) {
			require.NoError(t, err)
			scored = append(scored, member)
		}
		require.ElementsMatch(t, board, scored)
	}
}

// answers asserts what is read out of the reply to a command.
func answers[T any](t *testing.T, s redis.Sender, want T, cmd string, args ...any) {
	t.Helper()
	var got T
	require.NoError(t, redis.Sync{S: s}.DoInto(&got, cmd, args...), cmd)
	require.Equal(t, want, got, cmd)
}

// A loop that is left leaves nothing behind, and the keys are not held in memory.
func TestIteratorLeavesNothing(t *testing.T) {
	s := testbed.NewServer(t)
	conn := connect(t, s.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}})
	const n = 20000
	require.NoError(t, redis.AsError(redis.Sync{S: conn}.Do("EVAL",
		"for i = 1, tonumber(ARGV[1]) do redis.call('SET', KEYS[1] .. i, i) end", 1, "key:", n)))
	goroutines := runtime.NumGoroutine()
	for range 100 {
		for _, err := range redis.Keys(t.Context(), conn, redis.ScanOpts{}) {
			require.NoError(t, err)
			break
		}
	}
	require.LessOrEqual(t, runtime.NumGoroutine(), goroutines)
	seen := map[string]struct{}{}
	for key, err := range redis.Keys(t.Context(), conn, redis.ScanOpts{Match: "key:*", Count: 1000}) {
		require.NoError(t, err)
		seen[key] = struct{}{}
	}
	require.Len(t, seen, n)
}
