package main

import (
	"fmt"
	"time"
)

// cacheSample is the part of rediscache.Stats that the live view shows. Its fields have the same
// names.
type cacheSample struct {
	Hits, Misses, Joined, First, Passed float64
	Bytes, MaxBytes                     float64
	Nodes, Leases                       float64
}

// series are the metrics of redisprom.CacheCollector.
func (c *cacheSample) series() map[string]*float64 {
	return map[string]*float64{
		`redispipe_cache_reads_total result="hit"`:    &c.Hits,
		`redispipe_cache_reads_total result="miss"`:   &c.Misses,
		`redispipe_cache_reads_total result="joined"`: &c.Joined,
		`redispipe_cache_reads_total result="first"`:  &c.First,
		`redispipe_cache_reads_total result="passed"`: &c.Passed,
		`redispipe_cache_bytes`:                       &c.Bytes,
		`redispipe_cache_max_bytes`:                   &c.MaxBytes,
		`redispipe_cache_nodes`:                       &c.Nodes,
		`redispipe_cache_leases`:                      &c.Leases,
	}
}

func (c *cacheSample) reads() float64 { return c.Hits + c.Misses + c.Joined + c.First + c.Passed }

// liveCache describes what a cache did between two samples.
func liveCache(from, to cacheSample, elapsed time.Duration) string {
	if to.reads() < from.reads() {
		from = cacheSample{} // of a process that has ended
	}
	reads := to.reads() - from.reads()
	return fmt.Sprintf("cache: %s reads/s, %.1f %% hits; %.1f of %.1f MiB;\n    %.0f of %.0f masters tell of changes",
		thousands(int64(reads/elapsed.Seconds())), 100*(to.Hits-from.Hits)/max(reads, 1),
		to.Bytes/(1<<20), to.MaxBytes/(1<<20), to.Leases, to.Nodes)
}
