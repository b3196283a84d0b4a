package redisfailover

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redistest"
)

// If an option is out of its bounds, Open returns an error that names the option. It opens no member, and
// does not correct the option.
func TestOptsOutOfBounds(t *testing.T) {
	for word, opts := range map[string]Opts{
		"Patience must be at least 10ms, or 0 for the default, not 1ms": {Patience: time.Millisecond},
		"Patience":        {Patience: -time.Second},
		"FailureRate":     {FailureRate: 50},
		"not -1":          {FailureRate: -1},
		"not NaN":         {FailureRate: math.NaN()},
		"Ramp":            {Ramp: -1},
		"Hooks[1] is nil": {Hooks: []redis.Hook{make(attempted), nil}},
	} {
		opts.Logger = NoopLogger{}
		_, err := Open(t.Context(), []Member{{Sender: redistest.NewMock(t)}}, opts)
		require.True(t, redis.AsErrorx(err).IsOfType(redis.ErrOption), "%v", err)
		require.ErrorContains(t, err, word)
	}
	require.NoError(t, (&Opts{Patience: leastPatience, FailureRate: 1, Failback: -1, Ramp: time.Hour, Retry: redis.NoRetry}).check())
	used := Opts{}.withDefaults()
	require.NoError(t, used.check())
	require.Equal(t, []any{500 * time.Millisecond, 0.5, 10 * time.Second}, []any{used.Patience, used.FailureRate, used.Failback})
}
