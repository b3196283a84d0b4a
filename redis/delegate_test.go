package redis

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/send"
)

// handle delegates to a Sender, like redispipe.Client.
type handle struct{ Sender }

func init() {
	send.Opens(func(sender any) (inside any, known bool) {
		if h, ok := sender.(*handle); ok {
			return h.Sender, true
		}
		return nil, false
	})
}

// Requests to a handle are sent like requests to its sender, and the sender's hooks get the
// caller's context.
func TestHandle(t *testing.T) {
	type key struct{}
	var got []any
	hook := &recording{before: func(ctx context.Context) { got = append(got, ctx.Value(key{})) }}
	s := &handle{WithHook(answering(":7\r\n", Limits{}), hook)} // Send would panic
	ctx := context.WithValue(t.Context(), key{}, "caller's")
	var n int64
	require.NoError(t, SyncCtx{s}.DoInto(ctx, &n, "INCR", "k"))
	assert.EqualValues(t, 7, n)
	assert.EqualValues(t, 7, SyncCtx{s}.Do(ctx, "INCR", "k"))
	assert.EqualValues(t, 7, NewScript("return 7").Do(ctx, s, nil))

	many := func(reqs []Request, cb Future, start uint64) {
		for i := range reqs {
			cb.Resolve("one", start+uint64(i))
		}
	}
	plain := &foreignSender{sendMany: many, transaction: func(reqs []Request, cb Future, n uint64) {
		cb.Resolve([]any{"whole"}, n)
	}}
	s = &handle{WithHook(plain, hook)}
	assert.Equal(t, []any{"one", "one"}, SyncCtx{s}.SendMany(ctx, []Request{Req("GET", "a"), Req("GET", "b")}))
	results, err := SyncCtx{s}.SendTransaction(ctx, []Request{Req("GET", "a")})
	assert.Equal(t, []any{"whole"}, results)
	assert.NoError(t, err)

	// A hook is also called for a Watch whose session can't be opened.
	_, err = Watch(ctx, &handle{WithHook(plain, hook)}, []string{"k"}, func(*Tx) error { return nil })
	assertType(t, ErrSession, err)
	assert.Equal(t, []any{"caller's", "caller's", "caller's", "caller's", "caller's", "caller's"}, got)
}
