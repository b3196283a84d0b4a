package queue

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSmooth(t *testing.T) {
	for _, c := range []struct{ concurrency, pending, want int }{
		{0, 0, 0},
		{0, 1, 1},
		{1, 0, 0},
		{8, 8, 8},
		{8, 1000, 1000}, // upwards at once
		{1000, 8, 875},  // downwards by an eighth
		{9, 0, 7},
		{16, 15, 15},
	} {
		require.Equal(t, c.want, smooth(c.concurrency, c.pending), "%+v", c)
	}
}

func TestSmoothForgetsABurst(t *testing.T) {
	concurrency, batches := 100_000, 0
	for ; worthYielding(concurrency, false); batches++ {
		require.Less(t, batches, 100, "a lone goroutine is still taken for many")
		concurrency = smooth(concurrency, 1)
	}
	require.Greater(t, batches, 10, "a burst of replies looks like idleness")
}

func TestUsual(t *testing.T) {
	require.Equal(t, time.Millisecond, leastInFlight(0, time.Millisecond))
	require.Equal(t, time.Microsecond, leastInFlight(time.Millisecond, time.Microsecond), "downwards at once")
	slow := time.Millisecond
	for range 64 {
		slow = leastInFlight(slow, time.Second)
	}
	require.Greater(t, slow, 2*time.Millisecond, "upwards")
	require.Less(t, slow, 4*time.Millisecond, "slowly")
}
