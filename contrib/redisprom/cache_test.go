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
# HELP redispipe_cache_entries Entries in the cache.
# TYPE redispipe_cache_entries gauge
redispipe_cache_entries 0
# HELP redispipe_cache_leases Masters that report changes.
# TYPE redispipe_cache_leases gauge
redispipe_cache_leases 1
# HELP redispipe_cache_max_bytes The bound of cache_bytes.
# TYPE redispipe_cache_max_bytes gauge
redispipe_cache_max_bytes 1.048576e+06
# HELP redispipe_cache_reads_total Cacheable reads by the source of the answer: memory (hit); a read that filled the cache (miss), or the same read of another caller (joined); or the server, without filling the cache, because a full cache ignores the first read of a key (first), or because servers do not report changes now (passed).
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
