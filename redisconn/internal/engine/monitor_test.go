package engine

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestRan(t *testing.T) {
	start := time.Unix(1000, 0)
	r := ran{last: start, every: time.Second}
	for _, step := range []struct {
		after time.Duration // since the previous step
		want  bool
	}{
		{time.Second, true},
		{2 * time.Second, true},
		{2*time.Second + 1, false},
		{time.Second, true},
		{time.Hour, false},
		{time.Second, true},
	} {
		start = start.Add(step.after)
		require.Equal(t, step.want, r.until(start), "%+v", step)
	}
	for range mostLate {
		start = start.Add(time.Hour)
		require.False(t, r.until(start))
	}
	require.True(t, r.until(start.Add(time.Hour)))
}
