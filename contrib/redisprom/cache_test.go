package redisprom

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscache"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/testbed"
)

func TestCache(t *testing.T) {
	conn, err := redisconn.Connect(context.Background(), testbed.NewServer(t).Addr(), redisconn.Opts{
		IOTimeout: time.Minute, Logger: redisconn.NoopLogger{},
	})
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	cache, err := rediscache.New(conn, rediscache.Opts{Prefixes: []string{""}, MaxBytes: 1 << 20})
	require.NoError(t, err)
	require.Eventually(t, func() bool { return cache.Stats().Leases == 1 }, 20*time.Second, time.Millisecond)
	for range 3 {
		require.NoError(t, redis.Err(cache.Do(t.Context(), "LLEN", "list")))
	}
	require.NoError(t, redis.Err(cache.Do(t.Context(), "RPUSH", "list", 1)))
	require.NoError(t, testutil.CollectAndCompare(NewCacheCollector(cache), strings.NewReader(`
# HELP redispipe_cache_entries Entries that are held.
# TYPE redispipe_cache_entries gauge
redispipe_cache_entries 0
# HELP redispipe_cache_leases Masters whose changes are heard of.
# TYPE redispipe_cache_leases gauge
redispipe_cache_leases 1
# HELP redispipe_cache_max_bytes The bound of cache_bytes.
# TYPE redispipe_cache_max_bytes gauge
redispipe_cache_max_bytes 1.048576e+06
# HELP redispipe_cache_reads_total Cacheable reads by who has answered: memory (hit), a read of their own (miss), one of another caller (joined), or the server as without a cache: of a full one for the first time (first), or since changes are not heard of (passed).
# TYPE redispipe_cache_reads_total counter
redispipe_cache_reads_total{result="first"} 0
redispipe_cache_reads_total{result="hit"} 2
redispipe_cache_reads_total{result="joined"} 0
redispipe_cache_reads_total{result="miss"} 1
redispipe_cache_reads_total{result="passed"} 0
`), "redispipe_cache_entries", "redispipe_cache_leases", "redispipe_cache_max_bytes", "redispipe_cache_reads_total"))
	problems, err := testutil.CollectAndLint(NewCacheCollector(cache))
	require.NoError(t, err)
	require.Empty(t, problems)
}
