package redismirror

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe"
	"github.com/joomcode/redispipe/internal/slot"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redistest/memserver"
)

// unheard is a hook that does nothing.
type unheard struct{}

func (unheard) Before(ctx context.Context, _ redis.Operation) context.Context { return ctx }
func (unheard) After(context.Context, redis.Operation, redis.Completion)      {}

// between returns a Mirror of clients of two servers in memory.
func between(t *testing.T, opts Opts, options ...redispipe.Option) (m *Mirror, sides [2]*redispipe.Client) {
	for i := range sides {
		server, err := memserver.Start()
		require.NoError(t, err)
		t.Cleanup(server.Close)
		sides[i], err = redispipe.Open(t.Context(), "redis://"+server.Addr(), options...)
		require.NoError(t, err)
	}
	m, err := New(sides[0], sides[1], opts)
	require.NoError(t, err)
	t.Cleanup(m.Close)
	return m, sides
}

// The Mirror sends encoded requests if both sides take them. With hooks inside it sends plain ones. The results are the
// same.
func TestEncoded(t *testing.T) {
	for name, opts := range map[string][]redispipe.Option{
		"encoded": {redispipe.Logger(nil)}, "plain": {redispipe.Logger(nil), redispipe.Hooks(unheard{})},
	} {
		for _, reads := range []float64{0, 1} {
			m, sides := between(t, Opts{Reads: reads}, opts...)
			require.Equal(t, name == "encoded", m.encoded != nil)
			db := redis.SyncCtx{S: redis.WithRetry(m, redis.RetryOpts{})}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			require.Equal(t, "OK", db.Do(ctx, "SET", "k", []byte("7")))
			require.Equal(t, []byte("7"), db.Do(ctx, "GET", "k"))
			var n int
			require.NoError(t, db.DoInto(ctx, &n, "INCR", "k"))
			require.Equal(t, 8, n)
			var text []byte
			require.NoError(t, db.DoInto(ctx, &text, "GET", "k"))
			require.Equal(t, "8", string(text))
			require.Equal(t, []any{[]byte("8"), nil}, db.Do(ctx, "MGET", "k", "missing"))
			require.Equal(t, "PONG", db.Do(ctx, "PING"))
			require.ErrorIs(t, redis.Err(db.Do(ctx, "BLPOP", "k", 1)), redis.ErrNotSent)
			require.ErrorIs(t, redis.Err(db.Do(ctx, "HGET", "k", "f")), redis.ErrRefused)
			err := redis.WithSession(ctx, m, "", func(*redis.Session) error { return nil })
			require.ErrorContains(t, err, "a *redismirror.Mirror has no sessions: it can't repeat")
			settle(t, m)
			require.Empty(t, m.Findings())
			require.EqualValues(t, 2, m.Stats().Writes)
			require.EqualValues(t, 3*reads, m.Stats().Reads)
			for _, side := range sides {
				require.Equal(t, []byte("8"), side.Do(ctx, "GET", "k"))
			}
			require.NoError(t, m.CutOver(ctx, 1))
			require.Equal(t, int64(9), db.Do(ctx, "INCR", "k"))
			settle(t, m)
			require.Equal(t, []byte("9"), sides[0].Do(ctx, "GET", "k"))
			m.Close()
			require.True(t, redis.AsErrorx(db.Do(ctx, "GET", "k")).IsOfType(redis.ErrContextClosed))
		}
	}
}

// If the caller of a write leaves while the write waits for a closed gate, the write is not sent.
func TestHeldWriteIsCancelled(t *testing.T) {
	m, sides := between(t, Opts{}, redispipe.Logger(nil))
	slots := []int{int(slot.Of("k"))}
	require.NoError(t, m.gates.closeAll(t.Context(), slots))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- redis.Err(redis.SyncCtx{S: m}.Do(ctx, "SET", "k", "v")) }()
	require.Eventually(t, func() bool {
		m.gates.mu.Lock()
		defer m.gates.mu.Unlock()
		return len(m.gates.held) == 1
	}, time.Minute, time.Millisecond)
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
	m.gates.openAll(slots, m.sendHeld)
	require.Zero(t, m.gates.of[slots[0]].inFlight.Load())
	require.Equal(t, "OK", redis.SyncCtx{S: m}.Do(t.Context(), "SET", "later", "v"))
	settle(t, m)
	for _, side := range sides {
		require.Nil(t, side.Do(t.Context(), "GET", "k"))
		require.Equal(t, []byte("v"), side.Do(t.Context(), "GET", "later"))
	}
}
