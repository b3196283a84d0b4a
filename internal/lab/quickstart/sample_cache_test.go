package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/live"
	"github.com/joomcode/redispipe/rediscache"
)

// The statistics of a cache are shown alone, or together with those of its connections.
func TestLiveCache(t *testing.T) {
	statsOf := func(hits int64) rediscache.Stats {
		return rediscache.Stats{Hits: hits, Misses: 10, Bytes: 3 << 19, MaxBytes: 64 << 20, Nodes: 3, Leases: 2}
	}
	const want = "cache: 45 reads/s, 100.0 % hits; 1.5 of 64.0 MiB;\n    2 of 3 masters tell of changes"
	from, to := live.Of(statsOf(10)), live.Of(statsOf(100))
	require.Equal(t, want, shown(from, to, 2*time.Second))
	require.Contains(t, shown(to, from, time.Second), "20 reads/s, 50.0 % hits", "a process that was started again")

	metrics, ok := live.ParseMetrics(`redispipe_cache_reads_total{result="hit"} 90
redispipe_cache_reads_total{result="miss"} 10
redispipe_cache_bytes 1572864
redispipe_cache_max_bytes 67108864
redispipe_cache_nodes 3
redispipe_cache_leases 2
redispipe_writes_total{node="127.0.0.1:7000"} 4
`)
	require.True(t, ok)
	line := shown(live.Sample{}, metrics, time.Second)
	require.Contains(t, line, "requests/s")
	require.Contains(t, line, "cache: 100 reads/s, 90.0 % hits; 1.5 of 64.0 MiB;\n    2 of 3 masters")
}
