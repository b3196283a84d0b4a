package main

import (
	"sync/atomic"
	"time"

	"github.com/joomcode/redispipe/internal/histogram"
)

// latencies counts durations. It is safe for concurrent use.
type latencies struct {
	counts [histogram.Buckets]atomic.Int64
}

func (l *latencies) add(d time.Duration) {
	l.counts[histogram.Bucket(d)].Add(1)
}

// total returns how many durations were added.
func (l *latencies) total() int64 { return int64(l.snapshot().Count()) }

// snapshot returns what was added so far. Its quantiles are exact to 1/8.
func (l *latencies) snapshot() *histogram.Histogram {
	h := new(histogram.Histogram)
	for i := range l.counts {
		h.Add(histogram.Upper(i), int(l.counts[i].Load()))
	}
	return h
}
