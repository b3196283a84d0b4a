// Package hist counts durations in buckets of a fixed relative width, as
// HdrHistogram does, for a few nanoseconds a sample.
package hist

import (
	"math"
	"math/bits"
	"time"
)

const (
	// subBits divides each power of two into 32 buckets. The error is smaller than the difference
	// between two runs. A histogram is so small that a thousand callers can each have one in the
	// processor's cache.
	subBits = 5
	subSize = 1 << subBits
	// topBits: durations of 2^40 ns (18 minutes) and more share the last bucket.
	topBits = 40
	buckets = (topBits - subBits + 1) * subSize
)

// Hist is a histogram of durations. The zero value is empty. It is not safe
// for concurrent use: give each goroutine its own and Merge them.
type Hist struct {
	count [buckets]uint32
	total uint64
}

// Record adds a sample. A negative sample counts as zero.
func (h *Hist) Record(d time.Duration) {
	h.count[bucket(d)]++
	h.total++
}

// Merge adds the samples of o.
func (h *Hist) Merge(o *Hist) {
	for i, n := range o.count {
		h.count[i] += n
	}
	h.total += o.total
}

// Total returns the number of samples.
func (h *Hist) Total() uint64 { return h.total }

// Quantile returns a duration that the fraction q (0 to 1) of the samples does not exceed, with the
// precision of a bucket. Without samples it returns 0.
func (h *Hist) Quantile(q float64) time.Duration {
	if h.total == 0 {
		return 0
	}
	rank := max(uint64(math.Ceil(q*float64(h.total))), 1)
	var seen uint64
	for i, n := range h.count {
		seen += uint64(n)
		if seen >= rank {
			return middle(i)
		}
	}
	return middle(buckets - 1)
}

// bucket returns the index of the bucket for a duration. The first two powers of two are exact.
// Each further power has subSize buckets.
func bucket(d time.Duration) int {
	v := uint64(max(d, 0))
	if v < subSize {
		return int(v)
	}
	exp := bits.Len64(v) - 1 - subBits
	return min((exp+1)<<subBits+int(v>>exp)-subSize, buckets-1)
}

// middle returns the middle of bucket i.
func middle(i int) time.Duration {
	if i < 2*subSize {
		return time.Duration(i)
	}
	exp := i>>subBits - 1
	low := uint64(i&(subSize-1)+subSize) << exp
	return time.Duration(low + 1<<exp/2)
}
