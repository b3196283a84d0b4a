package main

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestLatencies(t *testing.T) {
	var l latencies
	var adding sync.WaitGroup
	for range 4 {
		adding.Go(func() {
			for i := range 1000 {
				l.add(time.Duration(i+1) * time.Microsecond)
			}
		})
	}
	adding.Wait()
	require.EqualValues(t, 4000, l.total())
	require.InEpsilon(t, 500*time.Microsecond, l.snapshot().Quantile(0.50), 0.13)
	require.InEpsilon(t, 990*time.Microsecond, l.snapshot().Quantile(0.99), 0.13)
}
