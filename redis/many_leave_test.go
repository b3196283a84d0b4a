package redis

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/send"
)

// stallingSender stalls at the first batch. Its caller may leave, but the batch is answered nevertheless.
type stallingSender struct {
	nobody
	sent   []Request
	future Future
	asked  int
}

func (s *stallingSender) SendMany(reqs []Request, cb Future, start uint64) {
	s.sent = append(s.sent, reqs...)
	if s.future == nil {
		s.future = cb
		send.Queued(cb, send.Ticket{Queue: s, Moves: true})
		return
	}
	for i := range reqs {
		cb.Resolve("again", start+uint64(i))
	}
}

func (s *stallingSender) Stalled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	if s.asked++; s.asked == 1 {
		cancel()
		return ctx
	}
	s.future.Resolve("once", 0)
	s.future.Resolve("once", 1)
	cancel()
	return context.Background()
}

func (s *stallingSender) Leave() bool        { return true }
func (*stallingSender) Withdraw(uint64) bool { return false }

// A call does not leave a stalled server before it has the results of its writes, even if its sender lets it leave. The
// sender does not know of writes that a wrapper, such as the one for scripts, has sent again.
func TestWritesDoNotLeave(t *testing.T) {
	s := &stallingSender{}
	got := Sync{S: s}.SendMany([]Request{Req("INCR", "k"), Req("GET", "k")})
	require.Equal(t, []any{"once", "once"}, got)
	require.Len(t, s.sent, 2, "INCR ran twice")
	s = &stallingSender{}
	got = Sync{S: s}.SendMany([]Request{Req("GET", "k"), Req("GET", "l")})
	require.Equal(t, []any{"again", "again"}, got)
}
