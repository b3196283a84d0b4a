package main

import (
	"math/bits"
	"sync/atomic"
	"time"
)

const (
	// subBits gives each power of two 16 buckets: a percentile is exact to 1/16.
	subBits = 4
	// Durations of up to 2^63 ns have a bucket.
	buckets = (63 - subBits + 1) << subBits
)

// histogram counts durations. Many goroutines may add to it at once.
type histogram struct {
	counts [buckets]atomic.Int64
}

func (h *histogram) add(d time.Duration) {
	h.counts[bucket(d)].Add(1)
}

func (h *histogram) total() int64 {
	var sum int64
	for i := range h.counts {
		sum += h.counts[i].Load()
	}
	return sum
}

// percentile returns a duration that the share p (0 to 1) of all does not exceed.
func (h *histogram) percentile(p float64) time.Duration {
	rest := int64(p * float64(h.total()))
	for i := range h.counts {
		rest -= h.counts[i].Load()
		if rest < 0 {
			return upper(i)
		}
	}
	return upper(buckets - 1)
}

// bucket returns the index for d: the power of two and the next bits below it.
func bucket(d time.Duration) int {
	n := uint64(max(d, 0))
	if n < 1<<subBits {
		return int(n)
	}
	shift := bits.Len64(n) - subBits - 1
	return (shift+1)<<subBits + int(n>>shift) - 1<<subBits
}

// upper returns the longest duration of a bucket.
func upper(i int) time.Duration {
	if i < 1<<subBits {
		return time.Duration(i)
	}
	shift := i>>subBits - 1
	first := uint64(i&(1<<subBits-1)+1<<subBits) << shift
	return time.Duration(first + 1<<shift - 1)
}
