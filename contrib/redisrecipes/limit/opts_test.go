package limit

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redistest"
)

func TestInvalidOptions(t *testing.T) {
	good := Rate{Count: 10, Per: time.Second}
	for name, opts := range map[string]Opts{
		"no rate":          {},
		"no period":        {Rate: Rate{Count: 1}},
		"a short period":   {Rate: Rate{Count: 1, Per: time.Millisecond}},
		"a long period":    {Rate: Rate{Count: 1, Per: 367 * 24 * time.Hour}},
		"a long burst":     {Rate: Rate{Count: 1, Per: 24 * time.Hour, Burst: 367}},
		"too many":         {Rate: Rate{Count: 1e9 + 1, Per: time.Second}},
		"a burst below 0":  {Rate: Rate{Count: 1, Per: time.Second, Burst: -1}},
		"a window's burst": {Rate: Rate{Count: 1, Per: time.Second, Burst: 2}, Kind: Window},
		"a kind":           {Rate: good, Kind: 2},
		"OnUnavailable":    {Rate: good, OnUnavailable: 3},
		"Processes":        {Rate: good, Processes: -1},
		"Batch":            {Rate: good, Batch: -1},
		"Timeout":          {Rate: good, Timeout: -1},
	} {
		_, err := New(redistest.NewMock(t), opts)
		require.ErrorIs(t, err, ErrOpts, name)
	}
	for _, sender := range []redis.Sender{nil, (*redispipe.Client)(nil), new(redispipe.Client)} {
		_, err := New(sender, Opts{Rate: good})
		require.ErrorIs(t, err, ErrOpts)
	}
}

func TestInvalidTakes(t *testing.T) {
	limiter, err := New(redistest.NewMock(t), Opts{Rate: Rate{Count: 10, Per: time.Second}})
	require.NoError(t, err)
	_, err = limiter.Allow(nil, "a") //nolint:staticcheck // users may pass nil
	require.True(t, redis.AsErrorx(err).IsOfType(redis.ErrContextIsNil), "%v", err)
	for _, take := range []Take{{"", 1}, {"a", -1}, {"a", 11}} {
		_, err = limiter.AllowEach(t.Context(), Take{"a", 1}, take) // a mock fails the test if something is sent
		require.ErrorIs(t, err, ErrTake)
	}
}
