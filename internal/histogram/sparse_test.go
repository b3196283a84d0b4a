package histogram

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

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

// Durations from 50 µs to 1 ms, as those of most requests, take 40 of the 280 buckets. The shortest
// and the longest possible take all.
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
