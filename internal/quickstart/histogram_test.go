package main

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Each duration lies in a bucket whose upper end is at most 1/16 above it, and
// buckets follow each other without a gap.
func TestHistogramBuckets(t *testing.T) {
	for i := range buckets - 1 {
		require.Equal(t, i, bucket(upper(i)))
		require.Equal(t, i+1, bucket(upper(i)+1))
	}
	for _, d := range []time.Duration{0, 15, 16, 17, 1000, time.Millisecond, time.Hour, math.MaxInt64} {
		require.GreaterOrEqual(t, upper(bucket(d)), d)
		require.LessOrEqual(t, upper(bucket(d))-d, d/16)
	}
	require.Equal(t, 0, bucket(-1))
	require.Equal(t, time.Duration(math.MaxInt64), upper(buckets-1))
}

func TestHistogramPercentile(t *testing.T) {
	var h histogram
	for i := range 1000 {
		h.add(time.Duration(i+1) * time.Microsecond)
	}
	require.Equal(t, int64(1000), h.total())
	require.InEpsilon(t, 500*time.Microsecond, h.percentile(0.50), 0.07)
	require.InEpsilon(t, 990*time.Microsecond, h.percentile(0.99), 0.07)
	require.GreaterOrEqual(t, h.percentile(1), time.Millisecond)
}
