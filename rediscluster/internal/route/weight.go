package route

import (
	"math/bits"
	"time"
)

// choose returns an index into weights: over many seeds, each index occurs in proportion to its weight.
// If all weights are zero, they count as equal. There must be at least one.
func choose(weights []uint64, seed uint32) int {
	total := uint64(0)
	for _, w := range weights {
		total += w
	}
	// The multiplication by the golden ratio spreads consecutive seeds evenly over the whole range.
	spread := uint64(seed) * 0x9E3779B97F4A7C15
	if total == 0 {
		i, _ := bits.Mul64(spread, uint64(len(weights)))
		return int(i)
	}
	at, _ := bits.Mul64(spread, total)
	for i, w := range weights {
		if at < w {
			return i
		}
		at -= w
	}
	return len(weights) - 1
}

// Weigh sets the nodes' shares of reads: the user's weights, times the share by latency if byLatency is
// set.
func (t *Snapshot) Weigh(byLatency bool, given func(*Node) uint64) {
	for _, s := range t.Shards {
		var least time.Duration
		for _, n := range s.Nodes {
			least = sooner(least, n.Latency())
		}
		for _, n := range s.Nodes {
			w := given(n)
			if trip := n.Latency(); byLatency && trip > 0 {
				w *= latencyShare(least, trip)
			}
			n.Weight.Store(w)
		}
	}
}

// latencyScale is the share of the node that answers soonest. The shares of the others are whole numbers,
// in inverse proportion to their latencies.
const latencyScale = 100

func latencyShare(least, trip time.Duration) uint64 {
	return max(uint64(latencyScale*least/trip), 1)
}
