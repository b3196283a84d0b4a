package live

import "time"

// Cache is the part of rediscache.Stats that the live view shows. Its fields have the same
// names.
type Cache struct {
	Hits, Misses, Joined, First, Passed float64
	Bytes, MaxBytes                     float64
	Nodes, Leases                       float64
}

// series returns the fields by the names of the metrics of redisprom.CacheCollector.
func (c *Cache) series() map[string]*float64 {
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

// CacheRates are what a cache did between two samples.
type CacheRates struct {
	PerSecond float64 // reads
	Hits      float64 // the share of the reads that were answered from memory, from 0 to 1
}

func (c *Cache) reads() float64 { return c.Hits + c.Misses + c.Joined + c.First + c.Passed }

// BetweenCaches returns what a cache did between two samples.
func BetweenCaches(from, to Cache, elapsed time.Duration) CacheRates {
	if to.reads() < from.reads() {
		from = Cache{} // from is of a process that has ended
	}
	reads := to.reads() - from.reads()
	return CacheRates{reads / elapsed.Seconds(), (to.Hits - from.Hits) / max(reads, 1)}
}
