package redis

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSyncCtxNilContext(t *testing.T) {
	var none context.Context
	s := SyncCtx{&foreignSender{}}
	assertType(t, ErrContextIsNil, s.Do(none, "GET", "k"))
	assertType(t, ErrContextIsNil, s.Send(none, Req("GET", "k")))
	results := s.SendMany(none, []Request{Req("GET", "k"), Req("GET", "k")})
	require.Len(t, results, 2)
	for _, res := range results {
		assertType(t, ErrContextIsNil, res)
	}
	_, err := s.SendTransaction(none, nil)
	assertType(t, ErrContextIsNil, err)
}

// A result that is there wins over a context that has ended since.
func TestSyncCtxResultWins(t *testing.T) {
	for range 100 {
		ctx, cancel := context.WithCancel(t.Context())
		s := &foreignSender{send: func(_ Request, cb Future, n uint64) {
			cb.Resolve("value", n)
			cancel()
		}}
		require.Equal(t, "value", SyncCtx{s}.Do(ctx, "GET", "k"))
	}
}

// noContext is the nil context that callers should not give.
var noContext context.Context
