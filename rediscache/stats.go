package rediscache

import "github.com/joomcode/redispipe/rediscache/internal/memory"

// Stats are the counters of a cache since it was made, and what it holds now.
type Stats struct {
	// Hits were answered out of memory; Misses were read by a tracking socket, and Joined
	// waited for such a read of another caller. First could have been cached, and were read as
	// without a cache, since it was full and they were asked for the first time, as far as is
	// remembered. So were Passed: the node had no lease, or has answered with an error.
	Hits, Misses, Joined, First, Passed int64
	// Dropped says how many entries were dropped, and why.
	Dropped Dropped
	// Entries and Bytes are what is held. What has no lease any more is counted until it is
	// removed, shortly after.
	Entries, Bytes int64
	// MaxBytes is that of Opts.
	MaxBytes int64
	// Nodes is how many masters there are, and Leases how many of them have a lease.
	Nodes, Leases int
}

// Dropped are entries that were dropped.
type Dropped struct {
	// Written were changed through this cache, Invalidated by others, as servers have told, or
	// by nobody: see the server's tracking-table-max-keys.
	Written, Invalidated int64
	// Space: others took their room. Aged: they were older than a reader wanted. Lease: their
	// node was lost, or has not answered for their slot any more. User: by Invalidate.
	Space, Aged, Lease, User int64
}

// Stats returns a snapshot of the counters, which is not of one moment.
func (c *Cache) Stats() Stats {
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
