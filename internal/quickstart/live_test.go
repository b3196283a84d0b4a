package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
)

func TestLive(t *testing.T) {
	stats := func(n int) redisconn.Stats {
		s := redisconn.Stats{Values: uint64(n), Writes: uint64(n / 10), WrittenRequests: uint64(n)}
		for _, h := range []**redis.Histogram{&s.Queue, &s.Wire, &s.Reading} {
			*h = new(redis.Histogram)
			(*h).Add(time.Duration(n)*time.Microsecond, n)
		}
		return s
	}
	require.Contains(t, live(stats(0), stats(1000)), "1,000 requests, 10.0/write; median queue 1.")
}
