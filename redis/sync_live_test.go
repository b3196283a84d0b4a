package redis_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/testbed"
)

func TestDoInto(t *testing.T) {
	s := testbed.NewServer(t)
	for _, protocol := range []int{2, 3} {
		conn := connectBy(t, s.Addr(), protocol)
		sync := redis.Sync{S: conn}
		for _, size := range []int{0, 1, 100, 32<<10 - 2, 32 << 10, 1 << 20} {
			value := strings.Repeat("x", size)
			require.NoError(t, redis.AsError(sync.Do("SET", "key", value)))
			var text string
			require.NoError(t, sync.DoInto(&text, "GET", "key"))
			require.Equal(t, value, text)
			body := make([]byte, 3, 100<<10)
			require.NoError(t, sync.DoInto(&body, "GET", "key"))
			require.Equal(t, value, string(body))
		}

		require.NoError(t, redis.AsError(sync.Do("SET", "number", "-42")))
		var number int64
		require.NoError(t, sync.DoInto(&number, "GET", "number"))
		require.EqualValues(t, -42, number)
		require.NoError(t, sync.DoInto(&number, "INCR", "number"))
		require.EqualValues(t, -41, number)
		var float float64
		require.NoError(t, sync.DoInto(&float, "INCRBYFLOAT", "number", 0.5))
		require.EqualValues(t, -40.5, float)
		var truth bool
		require.NoError(t, sync.DoInto(&truth, "EXISTS", "number"))
		require.True(t, truth)

		err := sync.DoInto(&number, "GET", "key")
		require.True(t, redis.AsErrorx(err).IsOfType(redis.ErrResponseUnexpected), "%v", err)
		require.EqualValues(t, -41, number)
		err = sync.DoInto(&number, "GET", "missing")
		require.True(t, redis.AsErrorx(err).IsOfType(redis.ErrResponseNil), "%v", err)
		err = sync.DoInto(&number, "LPUSH", "number", 1)
		require.True(t, redis.AsErrorx(err).IsOfType(redis.ErrResult), "%v", err)
		require.Error(t, sync.DoInto(number, "GET", "number"))

		require.NoError(t, redis.AsError(sync.Do("DEL", "hash", "list")))
		require.NoError(t, redis.AsError(sync.Do("HSET", "hash", "a", 1, "b", 2)))
		var hash map[string]int64
		require.NoError(t, sync.DoInto(&hash, "HGETALL", "hash"))
		require.Equal(t, map[string]int64{"a": 1, "b": 2}, hash)
		require.NoError(t, redis.AsError(sync.Do("RPUSH", "list", 3, 1, 2)))
		var list []int64
		require.NoError(t, sync.DoInto(&list, "LRANGE", "list", 0, -1))
		require.Equal(t, []int64{3, 1, 2}, list)
		require.Error(t, sync.DoInto(&list, "LRANGE", "key", 0, -1))
		require.Equal(t, []int64{3, 1, 2}, list)
	}
}

// Replies in both protocols are read into the same types.
func TestShapes(t *testing.T) {
	type visit struct {
		Page string        `redis:"page"`
		Took time.Duration `redis:"took,ms"`
		Note *string       `redis:"note"`
	}
	s := testbed.NewServer(t)
	setup := redis.Sync{S: connectTo(t, s.Addr())}
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
		conn := connectBy(t, s.Addr(), protocol)
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

// answers asserts that DoInto reads want from the reply to a command.
func answers[T any](t *testing.T, s redis.Sender, want T, cmd string, args ...any) {
	t.Helper()
	var got T
	require.NoError(t, redis.Sync{S: s}.DoInto(&got, cmd, args...), cmd)
	require.Equal(t, want, got, cmd)
}

// A large score is read as an integer, with each server, in both protocols, and in each way to read
// it.
func TestGreatScores(t *testing.T) {
	s := testbed.NewServer(t)
	for _, protocol := range []int{2, 3} {
		sync := redis.Sync{S: connectBy(t, s.Addr(), protocol)}
		for _, score := range []int64{1, 1e17, 1764288000000000000, 1 << 60, -1 << 62, 123456789012345680} {
			require.NoError(t, redis.AsError(sync.Do("ZADD", "scores", score, "m")))
			var into int64
			require.NoError(t, sync.DoInto(&into, "ZSCORE", "scores", "m"))
			require.Equal(t, score, into)
			got, err := redis.As[int64](sync.Do("ZSCORE", "scores", "m"))
			require.NoError(t, err)
			require.Equal(t, score, got)
			fields, err := redis.As[struct {
				Score int64 `redis:"m"`
			}](sync.Do("ZRANGE", "scores", 0, -1, "WITHSCORES"))
			require.NoError(t, err)
			require.Equal(t, score, fields.Score)
			all, err := redis.As[map[string]uint64](sync.Do("ZRANGE", "scores", 0, -1, "WITHSCORES"))
			require.Equal(t, score > 0, err == nil)
			require.Equal(t, uint64(max(score, 0)), all["m"])
		}
	}
}
