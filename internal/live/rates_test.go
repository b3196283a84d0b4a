package live

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestBetween(t *testing.T) {
	from, to := Of(statsOf(1000)), Of(statsOf(2000))
	to.Unknown += 2
	us := time.Microsecond
	want := Rates{PerSecond: 501, PerWrite: 10, Failed: 2, Mean: [len(Stages)]time.Duration{us, us, us, us}}
	require.Equal(t, want, Between(from, to, 2*time.Second))
	require.Zero(t, Between(from, to, 0).PerSecond)
	require.InDelta(t, 1003, Between(to, from, time.Second).PerSecond, 0, "of a process that was started again")
}

func TestBetweenCaches(t *testing.T) {
	from, to := Cache{Hits: 10, Misses: 10}, Cache{Hits: 100, Misses: 20}
	require.Equal(t, CacheRates{PerSecond: 50, Hits: 0.9}, BetweenCaches(from, to, 2*time.Second))
	require.Equal(t, CacheRates{PerSecond: 20, Hits: 0.5}, BetweenCaches(to, from, time.Second))
	require.Zero(t, BetweenCaches(to, to, time.Second).Hits)
}
