package aside

import (
	"context"
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
		require.NotContains(t, err.Error(), "the client", name)
	}
	for _, client := range []Client{nil, (*redispipe.Client)(nil), new(redispipe.Client)} {
		_, err := New(client, Opts{TTL: time.Hour})
		require.ErrorIs(t, err, ErrOpts)
		require.ErrorContains(t, err, "the client is nil, or")
	}
	db, err := redispipe.Open(t.Context(), "redis://127.0.0.1:1", redispipe.Logger(nil))
	require.NoError(t, err)
	defer db.Close()
	c, err := New(db, Opts{TTL: time.Millisecond})
	require.NoError(t, err)
	for _, key := range []string{"", "}a"} {
		_, err = c.Get(t.Context(), key, func(context.Context) ([]byte, error) { return nil, nil })
		require.ErrorIs(t, err, ErrKey)
		require.ErrorIs(t, c.Delete(t.Context(), key), ErrKey)
	}
	_, err = c.Get(t.Context(), "a", nil)
	require.ErrorIs(t, err, ErrLoader)
}
