// Package histogram counts durations in buckets of growing width.
package histogram

import (
	"encoding/json"
	"fmt"
	"iter"
	"math/bits"
	"time"
)

const (
	// subBits divides each power of two into 8 buckets, so that a quantile is exact to 1/8.
	subBits = 3
	// maxBits is the number of bits of the longest duration that has its own bucket, about two
	// minutes.
	maxBits = 37

	// Buckets is the number of buckets.
	Buckets = (maxBits - subBits + 1) << subBits
)

// Histogram counts durations with a precision of 1/8. Durations of more than two minutes count as
// two minutes. The zero value is empty, and so is a nil pointer, to which nothing can be added. It is not
// safe for concurrent use.
type Histogram struct {
	counts [Buckets]uint64
	count  uint64
	sum    time.Duration
}

// Add counts the duration d n times. A negative duration counts as 0.
func (h *Histogram) Add(d time.Duration, n int) {
	d = max(d, 0)
	h.counts[Bucket(d)] += uint64(n)
	h.count += uint64(n)
	h.sum += d * time.Duration(n)
}

// Merge adds all that o has counted.
func (h *Histogram) Merge(o *Histogram) {
	if o == nil {
		return
	}
	for i, n := range o.counts {
		h.counts[i] += n
	}
	h.count += o.count
	h.sum += o.sum
}

// Since returns what was counted since earlier, a previous copy of the histogram. If earlier is
// nil, it returns everything.
func (h *Histogram) Since(earlier *Histogram) *Histogram {
	var diff Histogram
	diff.Merge(h)
	if earlier == nil {
		return &diff
	}
	for i, n := range earlier.counts {
		diff.counts[i] -= n
	}
	diff.count -= earlier.count
	diff.sum -= earlier.sum
	return &diff
}

// Count returns how many durations were counted.
func (h *Histogram) Count() uint64 {
	if h == nil {
		return 0
	}
	return h.count
}

// Sum returns the sum of all durations.
func (h *Histogram) Sum() time.Duration {
	if h == nil {
		return 0
	}
	return h.sum
}

// Quantile returns a duration that is not exceeded by the share p (0 to 1) of all durations. For an
// empty histogram it returns 0.
func (h *Histogram) Quantile(p float64) time.Duration {
	if h.Count() == 0 {
		return 0
	}
	rest := uint64(max(0, min(p, 1)) * float64(h.count))
	rest = min(rest, h.count-1)
	for i, n := range h.counts {
		if rest < n {
			return Upper(i)
		}
		rest -= n
	}
	return Upper(Buckets - 1)
}

// All iterates over the non-empty buckets, beginning with the shortest durations. It yields the
// longest duration of each bucket, and the bucket's count.
func (h *Histogram) All() iter.Seq2[time.Duration, uint64] {
	return func(yield func(time.Duration, uint64) bool) {
		if h == nil {
			return
		}
		for i, n := range h.counts {
			if n > 0 && !yield(Upper(i), n) {
				return
			}
		}
	}
}

// String returns the count, the median and the 99th percentile, such as "7 (p50 58µs, p99 1ms)".
func (h *Histogram) String() string {
	return fmt.Sprintf("%d (p50 %v, p99 %v)", h.Count(), h.Quantile(0.5), h.Quantile(0.99))
}

// MarshalJSON implements json.Marshaler: the count, the sum, the median, and the 99th
// and 99.9th percentiles, in seconds.
func (h *Histogram) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Count uint64  `json:"count"`
		Sum   float64 `json:"sum"`
		P50   float64 `json:"p50"`
		P99   float64 `json:"p99"`
		P999  float64 `json:"p999"`
	}{h.count, h.sum.Seconds(), h.Quantile(0.5).Seconds(), h.Quantile(0.99).Seconds(), h.Quantile(0.999).Seconds()})
}

// Bucket returns the index of the bucket for d. It consists of the power of two and the next bits
// of d.
func Bucket(d time.Duration) int {
	n := min(uint64(max(d, 0)), 1<<maxBits-1)
	if n < 1<<subBits {
		return int(n)
	}
	shift := bits.Len64(n) - subBits - 1
	return (shift+1)<<subBits + int(n>>shift) - 1<<subBits
}

// Upper returns the longest duration in a bucket.
func Upper(i int) time.Duration {
	if i < 1<<subBits {
		return time.Duration(i)
	}
	shift := i>>subBits - 1
	first := uint64(i&(1<<subBits-1)+1<<subBits) << shift
	return time.Duration(first + 1<<shift - 1)
}

// Sparse counts durations like a Histogram, but allocates only the buckets from its shortest to its
// longest duration. The zero value is empty. A Sparse must not be copied, and is not safe for
// concurrent use.
type Sparse struct {
	counts []uint64 // counts of the buckets from first on, for whole powers of two
	first  int
	count  uint64
	sum    time.Duration
}

// Add counts the duration d n times. A negative duration counts as 0.
func (s *Sparse) Add(d time.Duration, n int) {
	d = max(d, 0)
	i := Bucket(d) - s.first
	if i < 0 || i >= len(s.counts) {
		s.grow(i + s.first)
		i = Bucket(d) - s.first
	}
	s.counts[i] += uint64(n)
	s.count += uint64(n)
	s.sum += d * time.Duration(n)
}

// grow makes room for a bucket.
func (s *Sparse) grow(bucket int) {
	const last = 1<<subBits - 1
	first, end := bucket&^last, (bucket|last)+1
	if len(s.counts) > 0 {
		first, end = min(first, s.first), max(end, s.first+len(s.counts))
	} else {
		s.first = first
	}
	counts := make([]uint64, end-first)
	copy(counts[s.first-first:], s.counts)
	s.counts, s.first = counts, first
}

// Count returns how many durations were counted.
func (s *Sparse) Count() uint64 { return s.count }

// Histogram returns a copy as a Histogram.
func (s *Sparse) Histogram() (h Histogram) {
	copy(h.counts[s.first:], s.counts)
	h.count, h.sum = s.count, s.sum
	return h
}
