package redisconn_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/testbed"
)

func TestDoInto(t *testing.T) {
	s := testbed.NewServer(t)
	for _, protocol := range []int{2, 3} {
		conn := connect(t, s.Addr(), redisconn.Opts{Protocol: protocol, Logger: redisconn.NoopLogger{}})
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
