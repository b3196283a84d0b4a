package aside

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe"
)

func TestInvalidOptions(t *testing.T) {
	for name, opts := range map[string]Opts{
		"no TTL":        {},
		"TTL":           {TTL: 367 * 24 * time.Hour},
		"RefreshAfter":  {TTL: time.Hour, RefreshAfter: 2 * time.Hour},
		"NegativeTTL":   {TTL: time.Hour, NegativeTTL: -1},
		"RetryAfter":    {TTL: time.Hour, RetryAfter: 1},
		"LoadTimeout":   {TTL: time.Hour, LoadTimeout: -1},
		"Lease":         {TTL: time.Hour, Lease: time.Millisecond},
		"a brace":       {TTL: time.Hour, Prefix: "{a}"},
		"another brace": {TTL: time.Hour, Prefix: "a}"},
	} {
		_, err := New(new(redispipe.Client), opts)
		require.ErrorIs(t, err, ErrOpts, name)
	}
	_, err := New(nil, Opts{TTL: time.Millisecond})
	require.ErrorIs(t, err, ErrOpts)
	c, err := New(new(redispipe.Client), Opts{TTL: time.Millisecond})
	require.NoError(t, err)
	for _, key := range []string{"", "}a"} {
		_, err = c.Get(t.Context(), key, nil)
		require.ErrorIs(t, err, ErrKey)
		require.ErrorIs(t, c.Delete(t.Context(), key), ErrKey)
	}
}
