package redisfailover

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/redis"
)

// twice is a sender of another library. When the next request comes, it resolves the last future again, and
// calls its Cancelled.
type twice struct {
	redis.Sender
	last redis.Future
}

func (s *twice) Send(r redis.Request, cb redis.Future, n uint64) {
	if s.last != nil {
		_ = s.last.Cancelled()
		s.last.Resolve([]byte("stale"), n)
	}
	s.last = cb
	cb.Resolve([]byte(r.Cmd), n)
}

func (s *twice) Close() {}

// reentrant is a future whose Cancelled makes the sender resolve it.
type reentrant struct {
	of       redis.Future
	results  []any
	resolved bool // when Cancelled returned
}

func (r *reentrant) Resolve(res any, _ uint64) { r.results = append(r.results, res) }

func (r *reentrant) Cancelled() error {
	r.of.Resolve("first", 0)
	r.resolved = len(r.results) > 0
	return context.Canceled
}

// No lock is held while the caller's future is asked, and the future is not resolved before it has answered.
func TestResolvedWhileAsked(t *testing.T) {
	cb := new(reentrant)
	f := newForeign(&attempt{Forward: send.Forward{To: cb}, of: &term{member: new(member), ctx: t.Context()}})
	cb.of = f
	require.ErrorIs(t, f.Cancelled(), context.Canceled)
	require.False(t, cb.resolved)
	require.Equal(t, []any{"first"}, cb.results)
	require.NoError(t, f.Cancelled(), "it is resolved")
	f.Resolve("second", 0)
	require.Equal(t, []any{"first"}, cb.results)
}

// If a future is resolved twice, no other request gets the second result.
func TestSenderThatResolvesTwice(t *testing.T) {
	db, err := Open(t.Context(), []Member{{Sender: &twice{}}}, Opts{Probe: well, Logger: NoopLogger{}, Patience: time.Minute})
	require.NoError(t, err)
	defer db.Close()
	for range 100 {
		for _, cmd := range []string{"GET", "TTL"} {
			require.Equal(t, []byte(cmd), db.Do(t.Context(), cmd, "k"))
			var typed string
			require.NoError(t, db.DoInto(t.Context(), &typed, cmd, "k"))
			require.Equal(t, cmd, typed)
		}
	}
}
