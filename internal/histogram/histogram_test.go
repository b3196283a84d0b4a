package histogram

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Each duration lies in a bucket whose upper end is at most 1/8 above it, and
// buckets follow each other without a gap.
func TestBuckets(t *testing.T) {
	for i := range Buckets - 1 {
		require.Equal(t, i, Bucket(Upper(i)))
		require.Equal(t, i+1, Bucket(Upper(i)+1))
	}
	for _, d := range []time.Duration{0, 7, 8, 9, 1000, time.Millisecond, time.Minute} {
		require.GreaterOrEqual(t, Upper(Bucket(d)), d)
		require.LessOrEqual(t, Upper(Bucket(d))-d, d/8)
	}
	require.Equal(t, 0, Bucket(-1))
	require.Equal(t, Buckets-1, Bucket(math.MaxInt64))
}

func TestHistogram(t *testing.T) {
	var h Histogram
	require.Zero(t, h.Quantile(0.5))
	for i := range 1000 {
		h.Add(time.Duration(i+1)*time.Microsecond, 2)
	}
	require.EqualValues(t, 2000, h.Count())
	require.Equal(t, 1001*time.Millisecond, h.Sum())
	require.InEpsilon(t, 500*time.Microsecond, h.Quantile(0.50), 0.13)
	require.InEpsilon(t, 990*time.Microsecond, h.Quantile(0.99), 0.13)
	require.GreaterOrEqual(t, h.Quantile(1), time.Millisecond)
	require.Equal(t, h.Quantile(1), h.Quantile(7))

	before := h
	h.Add(time.Hour, 1)
	h.Add(-time.Hour, 1)
	late := h.Since(&before)
	require.EqualValues(t, 2, late.Count())
	var parts []time.Duration
	for upper, n := range late.All() {
		require.EqualValues(t, 1, n)
		parts = append(parts, upper)
	}
	require.Equal(t, []time.Duration{0, Upper(Buckets - 1)}, parts)
	before.Merge(late)
	before.Merge(nil)
	require.Equal(t, h, before)

	text, err := json.Marshal(&h)
	require.NoError(t, err)
	require.Contains(t, string(text), `"count":2002`)

	var one Histogram
	one.Add(7*time.Nanosecond, 1)
	require.Equal(t, "1 (p50 7ns, p99 7ns)", fmt.Sprintf("%v", &one))
}

// A Sparse has the same counts as a Histogram, no matter in which order durations are added.
func TestSparse(t *testing.T) {
	for range 100 {
		var s Sparse
		var h Histogram
		require.Equal(t, h, s.Histogram())
		for range rand.N(20) {
			d, n := time.Duration(rand.Uint64()>>rand.N(64)), rand.N(3) // often negative, or longer than the last bucket
			s.Add(d, n)
			h.Add(d, n)
			require.Equal(t, h, s.Histogram())
		}
		require.Equal(t, h.Count(), s.Count())
	}
}

// The durations of most requests take few of the buckets. The shortest and the longest possible
// duration together take all.
func TestSparseMemory(t *testing.T) {
	var s Sparse
	for d := 50 * time.Microsecond; d <= time.Millisecond; d += time.Microsecond {
		s.Add(d, 1)
	}
	require.Len(t, s.counts, 40)
	s.Add(-1, 1)
	s.Add(math.MaxInt64, 1)
	require.Len(t, s.counts, Buckets)
	require.Zero(t, testing.AllocsPerRun(100, func() { s.Add(time.Second, 1) }))
}
