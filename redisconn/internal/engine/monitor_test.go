package engine

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestServed(t *testing.T) {
	at := func(seconds int64) time.Time { return time.Unix(1000+seconds, 0) }
	var v served
	require.Equal(t, at(1), v.since(at(1), 7))
	require.Equal(t, at(1), v.since(at(2), 7))
	require.Equal(t, at(3), v.since(at(3), 8))
}

func TestRan(t *testing.T) {
	start := time.Unix(1000, 0)
	r := ran{last: start, every: time.Second}
	for _, step := range []struct {
		after time.Duration // since the step before
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
