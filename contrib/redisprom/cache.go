package redisprom

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/joomcode/redispipe/rediscache"
)

// CacheCollector exports the statistics of a cache. It reads them when it is scraped, so it does not slow
// down requests.
type CacheCollector struct{ cache *rediscache.Cache }

var _ prometheus.Collector = (*CacheCollector)(nil)

// NewCacheCollector returns a CacheCollector.
func NewCacheCollector(cache *rediscache.Cache) *CacheCollector { return &CacheCollector{given(cache)} }

var (
	cacheReadsDesc   = newDesc("cache_reads_total", "Cacheable reads by the source of the answer: memory (hit); a read that filled the cache (miss), or the same read of another caller (joined); or the server, without filling the cache, because a full cache ignores the first read of a key (first), or because servers do not report changes now (passed).", "result")
	cacheDroppedDesc = newDesc("cache_dropped_entries_total", "Entries that were dropped.", "reason")
	cacheEntriesDesc = newDesc("cache_entries", "Entries in the cache.")
	cacheBytesDesc   = newDesc("cache_bytes", "Bytes in the cache.")
	cacheMaxDesc     = newDesc("cache_max_bytes", "The bound of cache_bytes.")
	cacheLeasesDesc  = newDesc("cache_leases", "Masters that report changes.")
	cacheNodesDesc   = newDesc("cache_nodes", "Masters.")
)

// Describe implements prometheus.Collector.
func (c *CacheCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{
		cacheReadsDesc, cacheDroppedDesc, cacheEntriesDesc, cacheBytesDesc, cacheMaxDesc, cacheLeasesDesc, cacheNodesDesc,
	} {
		ch <- desc
	}
}

// Collect implements prometheus.Collector.
func (c *CacheCollector) Collect(ch chan<- prometheus.Metric) {
	stats := c.cache.Stats()
	send := func(desc *prometheus.Desc, kind prometheus.ValueType, n int64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(desc, kind, float64(n), labels...)
	}
	for result, n := range map[string]int64{"hit": stats.Hits, "miss": stats.Misses, "joined": stats.Joined, "first": stats.First, "passed": stats.Passed} {
		send(cacheReadsDesc, prometheus.CounterValue, n, result)
	}
	d := stats.Dropped
	for reason, n := range map[string]int64{
		"written": d.Written, "invalidated": d.Invalidated, "space": d.Space, "aged": d.Aged, "lease": d.Lease, "user": d.User,
	} {
		send(cacheDroppedDesc, prometheus.CounterValue, n, reason)
	}
	send(cacheEntriesDesc, prometheus.GaugeValue, stats.Entries)
	send(cacheBytesDesc, prometheus.GaugeValue, stats.Bytes)
	send(cacheMaxDesc, prometheus.GaugeValue, stats.MaxBytes)
	send(cacheLeasesDesc, prometheus.GaugeValue, int64(stats.Leases))
	send(cacheNodesDesc, prometheus.GaugeValue, int64(stats.Nodes))
}
