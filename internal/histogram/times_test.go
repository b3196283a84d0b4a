package histogram

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTimes(t *testing.T) {
	var times Times
	var adders sync.WaitGroup
	for range 8 {
		adders.Go(func() { times.Add(time.Second) })
	}
	adders.Wait()
	before := times.Histogram()
	times.Add(time.Millisecond)
	require.Equal(t, uint64(8), before.Count(), "a copy")
	require.Equal(t, 8*time.Second, before.Sum())
	require.Equal(t, uint64(9), times.Histogram().Count())
}
