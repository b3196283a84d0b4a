package redis

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/wire"
)

// echoing answers each request with its first argument.
func echoing() *foreignSender {
	return &foreignSender{
		send: func(r Request, cb Future, n uint64) { cb.Resolve(r.Args[0], n) },
		sendMany: func(reqs []Request, cb Future, start uint64) {
			for i := range reqs { // in another order than that of the requests
				at := len(reqs) - 1 - i
				cb.Resolve(reqs[at].Args[0], start+uint64(at))
			}
		},
		transaction: func(reqs []Request, cb Future, start uint64) {
			list := make([]any, len(reqs))
			for i, r := range reqs {
				list[i] = r.Args[0]
			}
			cb.Resolve(list, start)
		},
	}
}

func TestSendMany(t *testing.T) {
	reqs := []Request{Req("ECHO", "a"), Req("ECHO", "b"), Req("ECHO", ErrIO.New("x"))}
	for name, results := range map[string][]any{
		"Sync":    Sync{echoing()}.SendMany(reqs),
		"SyncCtx": SyncCtx{echoing()}.SendMany(t.Context(), reqs),
	} {
		require.Len(t, results, 3, name)
		assert.Equal(t, []any{"a", "b"}, results[:2], name)
		assertType(t, ErrIO, results[2], name)
		req, _ := AsErrorx(results[2]).Property(EKRequest)
		assert.Equal(t, "ECHO", req.(Request).Cmd)
	}
	assert.Empty(t, Sync{&foreignSender{}}.SendMany(nil), "nothing is sent")
	assert.Empty(t, SyncCtx{&foreignSender{}}.SendMany(t.Context(), []Request{}))
}

func TestSendManyContextEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var late Future
	s := &foreignSender{sendMany: func(_ []Request, cb Future, start uint64) {
		assert.NoError(t, cb.Cancelled())
		cb.Resolve("in time", start+1)
		cb.Resolve("twice", start+1)
		late = cb
		cancel()
	}}
	reqs := []Request{Req("GET", "canary"), Req("GET", "b"), Req("GET", "c")}
	results := SyncCtx{s}.SendMany(ctx, reqs)
	late.Resolve("late", 0)
	assert.Error(t, late.Cancelled())
	assert.Equal(t, "in time", results[1])
	for _, i := range []int{0, 2} {
		assertType(t, ErrRequestCancelled, results[i])
		assert.False(t, AsErrorx(results[i]).HasTrait(ErrTraitNotSent))
		assert.Equal(t, context.Canceled, AsErrorx(results[i]).Cause())
		assertNoSecret(t, AsError(results[i]))
	}
	for _, res := range (SyncCtx{&foreignSender{}}).SendMany(ctx, reqs) {
		assertType(t, ErrRequestWithdrawn, res, "the context had ended")
		assert.True(t, AsErrorx(res).HasTrait(ErrTraitNotSent))
	}
}

func TestSendManyWaitsForRoom(t *testing.T) {
	q := fullQueue{make(chan struct{})}
	close(q.open)
	times, some := 0, false
	s := echoing()
	answer := s.sendMany
	s.sendMany = func(reqs []Request, cb Future, start uint64) {
		if times++; times > 2 {
			answer(reqs, cb, start)
			return
		}
		for i := range reqs {
			if i == 0 && some {
				cb.Resolve("value", start)
				continue
			}
			cb.Resolve(q.err(), start+uint64(i))
		}
	}
	reqs := []Request{Req("ECHO", "a"), Req("ECHO", "b")}
	assert.Equal(t, []any{"a", "b"}, Sync{s}.SendMany(reqs))
	assert.Equal(t, 3, times)

	times, some = 0, true
	results := Sync{s}.SendMany(reqs)
	assert.Equal(t, "value", results[0])
	assertType(t, ErrQueueFull, results[1], "what was done is not repeated")
	assert.Equal(t, 1, times)

	times, some = 0, false
	q.open = make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	refuse := s.sendMany
	s.sendMany = func(reqs []Request, cb Future, start uint64) {
		refuse(reqs, cb, start)
		cancel()
	}
	for _, res := range (SyncCtx{s}).SendMany(ctx, reqs) {
		assert.True(t, AsErrorx(res).HasTrait(ErrTraitNotSent))
	}
}

func TestSendTransaction(t *testing.T) {
	reqs := []Request{Req("ECHO", "a"), Req("ECHO", "b")}
	res, err := Sync{echoing()}.SendTransaction(reqs)
	assert.NoError(t, err)
	assert.Equal(t, []any{"a", "b"}, res)
	res, err = SyncCtx{echoing()}.SendTransaction(t.Context(), reqs)
	assert.NoError(t, err)
	assert.Equal(t, []any{"a", "b"}, res)

	var answer any
	s := &foreignSender{transaction: func(_ []Request, cb Future, n uint64) { cb.Resolve(answer, n) }}
	for want, a := range map[string]any{
		ErrExecEmpty.FullName():          nil,
		ErrExecAbort.FullName():          ErrExecAbort.New("x"),
		ErrResponseUnexpected.FullName(): "QUEUED",
	} {
		answer = a
		res, err = Sync{s}.SendTransaction(reqs)
		assert.Nil(t, res)
		assert.Equal(t, want, AsErrorx(err).Type().FullName())
	}
}

func TestSendTransactionContextEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := &foreignSender{transaction: func([]Request, Future, uint64) { cancel() }}
	_, err := SyncCtx{s}.SendTransaction(ctx, []Request{Req("GET", "canary")})
	assertType(t, ErrRequestCancelled, err)
	_, err = SyncCtx{&foreignSender{}}.SendTransaction(ctx, nil)
	assertType(t, ErrRequestWithdrawn, err)
}

func TestSendTransactionWaitsForRoom(t *testing.T) {
	q := fullQueue{make(chan struct{})}
	close(q.open)
	times := 0
	s := &foreignSender{transaction: func(_ []Request, cb Future, n uint64) {
		if times++; times == 1 {
			cb.Resolve(q.err(), n)
			return
		}
		cb.Resolve([]any{}, n)
	}}
	_, err := Sync{s}.SendTransaction(nil)
	assert.NoError(t, err)
	assert.Equal(t, 2, times)
}

var _ wire.CapacityWaiter = fullQueue{}
