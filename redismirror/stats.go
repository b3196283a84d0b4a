package redismirror

import (
	"sync/atomic"

	"github.com/joomcode/redispipe/internal/slot"
)

// Stats are the statistics of a [Mirror].
type Stats struct {
	// Share is the share of the keys that are cut over.
	Share float64
	// Pending is how many requests wait to be repeated, or for the answer to their repetition.
	Pending int
	// Reads counts the reads that were compared, and Writes the writes that were repeated.
	Reads, Writes uint64
	// Failed counts repetitions that have failed, Dropped requests that were not repeated because the queue
	// was full, and Raced comparisons that were given up because the keys were written at the same time.
	Failed, Dropped, Raced uint64
	// Findings is the number of listed findings. Unlisted is the number of findings for which the list had
	// no room.
	Findings, Unlisted int
}

type counts struct{ reads, writes, failed, dropped, raced atomic.Uint64 }

// Stats returns a snapshot of the statistics.
func (m *Mirror) Stats() Stats {
	if !m.opened() {
		return Stats{}
	}
	m.findings.mu.Lock()
	defer m.findings.mu.Unlock()
	return Stats{
		Share: float64(m.moved.Load()) / slot.Count, Pending: int(m.repeats.pending.Load()),
		Reads: m.counts.reads.Load(), Writes: m.counts.writes.Load(), Failed: m.counts.failed.Load(),
		Dropped: m.counts.dropped.Load(), Raced: m.counts.raced.Load(),
		Findings: len(m.findings.of), Unlisted: m.findings.unlisted,
	}
}
