package histogram

import "time"

// Sparse counts durations like a Histogram, but allocates only the buckets from its shortest to its
// longest duration. The zero value is empty. A Sparse must not be copied, and is not safe for
// concurrent use.
type Sparse struct {
	counts []uint64 // of the buckets from first on: whole powers of two
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
