package sock

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestProgress(t *testing.T) {
	start := time.Unix(1000, 0)
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	p := Progress{Since: start}
	stalled := func(now, oldest int, received int64) bool {
		return p.Stalled(at(now), at(oldest), received, 5*time.Second)
	}
	require.False(t, stalled(4, 0, 0))
	require.True(t, stalled(5, 0, 100), "too little has come")
	require.False(t, stalled(5, 0, enoughProgress))
	require.False(t, stalled(9, 0, 2*enoughProgress-1))
	require.True(t, stalled(10, 0, 2*enoughProgress-1))
	require.False(t, stalled(10, 6, 2*enoughProgress-1), "it waits since then")
	require.True(t, stalled(11, 6, 3*enoughProgress-2), "what came before does not count")
}
