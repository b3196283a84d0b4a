package redisfailover

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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
