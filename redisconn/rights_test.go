package redisconn

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Every order of steps is explored, over all states that there are with up to four
// requests: nothing is lost, nobody waits for ever, and each right has one holder.
func TestRightsModel(t *testing.T) {
	for _, c := range []struct{ mayIdle, crowded bool }{{true, false}, {false, false}, {true, true}, {false, true}} {
		seen := map[string]bool{}
		paths := [][]string{nil}
		ends := 0
		for len(paths) > 0 {
			path := paths[len(paths)-1]
			paths = paths[:len(paths)-1]
			m := newRightsModel(c.mayIdle, c.crowded)
			for _, step := range path {
				m.do(step)
			}
			require.NoError(t, m.check(), "%v", path)
			key := m.key()
			if seen[key] {
				continue
			}
			seen[key] = true
			steps := m.steps()
			if len(steps) == 0 {
				ends++
				require.Empty(t, m.unresolved(), "%v", path)
			}
			for _, step := range steps {
				paths = append(paths, append(path[:len(path):len(path)], step))
			}
		}
		t.Logf("%d states, %d ends", len(seen), ends)
		require.Positive(t, ends)
	}
}

// With few callers a writer yields only behind a batch in flight, if postponing has not paid.
func TestYieldWithFew(t *testing.T) {
	for _, c := range []struct {
		pause    int
		inFlight *batch
		want     bool
	}{
		{0, nil, false},
		{0, &batch{}, false},
		{postponePause, nil, false},
		{postponePause, &batch{}, true},
	} {
		q := queue{head: c.inFlight, concurrency: 8}
		q.pause = c.pause
		require.Equal(t, c.want, q.startYield() != 0, "%+v", c)
	}
}
