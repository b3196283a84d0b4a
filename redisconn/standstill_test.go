package redisconn_test

import (
	"testing"
	"time"
)

// standstill starts a measurement. measured ends it, and returns the longest time for which this
// process, or its machine, did not run.
func standstill() (measured func() time.Duration) {
	stop, longest := make(chan struct{}), make(chan time.Duration)
	go func() { // ends with measured
		ticker := time.NewTicker(10 * time.Millisecond)
		defer ticker.Stop()
		most, last := time.Duration(0), time.Now()
		for running := true; running; {
			select {
			case <-ticker.C:
			case <-stop:
				running = false
			}
			most = max(most, time.Since(last))
			last = time.Now()
		}
		longest <- most
	}()
	return func() time.Duration {
		close(stop)
		return <-longest
	}
}

// steadily calls measure until the process ran without a longer pause than little. Then it calls
// judge. A pause would change the measured shares of time.
func steadily(t testing.TB, little time.Duration, measure func() (judge func())) {
	t.Helper()
	for {
		measured := standstill()
		judge := measure()
		stood := measured()
		if stood < little {
			judge()
			return
		}
		t.Logf("measured again: the process has stood still for %v", stood)
	}
}
