package rediscache

import "github.com/joomcode/redispipe/rediscache/internal/memory"

// Stats are the counters of a cache since it was created, and its present contents.
type Stats struct {
	// Hits counts reads that were answered from memory. Misses counts reads that were sent over a tracking
	// socket, and Joined reads that waited for the same read of another caller. First counts cacheable
	// reads that the cache forwarded because it was full and did not remember an earlier read of the same
	// request. Passed counts reads that it forwarded because the node had no lease or answered with an
	// error.
	Hits, Misses, Joined, First, Passed int64
	// Dropped counts dropped entries by reason.
	Dropped Dropped
	// Entries and Bytes are the present number and size of the entries. Entries whose lease has ended
	// count until they are removed, which happens soon after.
	Entries, Bytes int64
	// MaxBytes is Opts.MaxBytes.
	MaxBytes int64
	// Nodes is the number of masters, and Leases the number of masters with a lease.
	Nodes, Leases int
}

// Dropped counts dropped entries by reason.
type Dropped struct {
	// Written counts entries whose keys were changed through this cache. Invalidated counts entries that
	// a server has invalidated: another client has changed a key, or the server's tracking table was full
	// (tracking-table-max-keys).
	Written, Invalidated int64
	// Space counts entries that were evicted to make room, Aged those that were older than a reader
	// accepts, Lease those whose lease has ended (the tracker was lost, or its node lost a slot), and User
	// those dropped by Invalidate.
	Space, Aged, Lease, User int64
}

// Stats returns the counters. They are not read atomically.
func (c *Cache) Stats() Stats {
	if !c.opened() {
		return Stats{}
	}
	n := c.core.store.Counts()
	stats := Stats{
		Hits: n.Hits, Misses: n.Misses, Joined: n.Joined, First: n.First, Passed: c.core.passed.Load(),
		Entries: n.Entries, Bytes: n.Bytes, MaxBytes: c.core.opts.MaxBytes,
		Dropped: Dropped{
			Written: n.Dropped[memory.ByWrite], Invalidated: n.Dropped[memory.ByServer], Space: n.Dropped[memory.BySpace],
			Aged: n.Dropped[memory.ByAge], Lease: n.Dropped[memory.ByLease], User: n.Dropped[memory.ByUser],
		},
	}
	at := memory.Now()
	c.core.nodes.each(func(f *feed) {
		stats.Nodes++
		if l := f.lease.Load(); l != nil && l.Holds(at) {
			stats.Leases++
		}
	})
	return stats
}
