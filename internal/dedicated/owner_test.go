package dedicated

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestLimiter(t *testing.T) {
	var s limiter
	at := time.Unix(0, 0)
	for _, c := range []struct {
		after time.Duration
		more  int
		ok    bool
	}{
		{0, 0, true},
		{0, 0, false},
		{limiterPause - 1, 0, false},
		{1, 2, true},
		{0, 0, false},
		{time.Hour, 1, true},
		{time.Hour, 0, true},
	} {
		at = at.Add(c.after)
		more, ok := s.pass(at)
		require.Equal(t, c.ok, ok)
		require.Equal(t, c.more, more)
	}
}
