package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/live"
	"github.com/joomcode/redispipe/redisconn"
)

// statsOf returns the Stats of n requests that took a microsecond each, ten per batch.
func statsOf(n int) redisconn.Stats {
	s := redisconn.Stats{Values: uint64(n), Unknown: 3, Writes: uint64(n / 10), WrittenRequests: uint64(n), InFlight: 7}
	s.Merge(redisconn.Stats{})
	for _, stage := range live.Stages {
		s.Stage(stage).Add(time.Microsecond, n)
	}
	return s
}

func TestLive(t *testing.T) {
	want := "500 requests/s, 0 failed, 10.0/write, 7 in flight, 0 queued;\n    mean queue 1µs wire 1µs reading 1µs callback 1µs"
	require.Equal(t, want, shown(live.Of(statsOf(1000)), live.Of(statsOf(2000)), 2*time.Second))
	require.Contains(t, shown(live.Of(statsOf(5000)), live.Of(statsOf(1000)), time.Second), "1,003 requests/s, 3 failed", "a process that was started again")
}
