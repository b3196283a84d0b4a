package redis_test

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/testbed"
)

// A loop that the caller leaves early leaves no goroutine, and does not hold all keys in memory.
func TestIteratorLeavesNothing(t *testing.T) {
	s := testbed.NewServer(t)
	conn := connectTo(t, s.Addr())
	const n = 20000
	require.NoError(t, redis.AsError(redis.Sync{S: conn}.Do("EVAL",
		"for i = 1, tonumber(ARGV[1]) do redis.call('SET', KEYS[1] .. i, i) end", 1, "key:", n)))
	goroutines := runtime.NumGoroutine()
	const loops = 100
	for range loops {
		for _, err := range redis.Keys(t.Context(), conn, redis.ScanOpts{}) {
			require.NoError(t, err)
			break
		}
	}
	require.Less(t, runtime.NumGoroutine(), goroutines+loops/2)
	seen := map[string]struct{}{}
	for key, err := range redis.Keys(t.Context(), conn, redis.ScanOpts{Match: "key:*", Count: 1000}) {
		require.NoError(t, err)
		seen[key] = struct{}{}
	}
	require.Len(t, seen, n)
}
