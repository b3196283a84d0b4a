package redis

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/send"
)

// echoing returns a sender that answers each request with the request's first argument.
func echoing() *foreignSender {
	return &foreignSender{
		send: func(r Request, cb Future, n uint64) { cb.Resolve(r.Args[0], n) },
		sendMany: func(reqs []Request, cb Future, start uint64) {
			for i := range reqs { // in a different order than the requests
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
	times := 0
	s := echoing()
	answer := s.sendMany
	s.sendMany = func(reqs []Request, cb Future, start uint64) {
		if times++; times > 2 {
			answer(reqs, cb, start)
			return
		}
		for i := range reqs {
			cb.Resolve(q.err(), start+uint64(i))
		}
	}
	reqs := []Request{Req("ECHO", "a"), Req("ECHO", "b")}
	assert.Equal(t, []any{"a", "b"}, Sync{s}.SendMany(reqs))
	assert.Equal(t, 3, times)

	times = 0
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

var _ send.CapacityWaiter = fullQueue{}

func TestTransact(t *testing.T) {
	refused := ErrResult.New("WRONGTYPE no")
	busy := ErrLoading.New("LOADING no")
	reqs := []Request{Req("A"), Req("B"), Req("C")}
	for _, c := range []struct {
		exec  any
		index int
		err   error
	}{
		{exec: []any{"OK", int64(1), nil}, index: -1},
		{exec: []any{"OK", refused, busy}, index: 1, err: refused},
		{exec: []any{busy, refused, nil}, index: 0, err: busy},
	} {
		s := &foreignSender{transaction: func(_ []Request, cb Future, n uint64) { cb.Resolve(c.exec, n) }}
		for name, transact := range map[string]func() ([]any, error){
			"Sync":    func() ([]any, error) { return Sync{s}.Transact(reqs) },
			"SyncCtx": func() ([]any, error) { return SyncCtx{s}.Transact(t.Context(), reqs) },
		} {
			results, err := transact()
			assert.Equal(t, c.exec, results, name)
			if c.index < 0 {
				assert.NoError(t, err, name)
				continue
			}
			var failed *ResultError
			require.ErrorAs(t, err, &failed, name)
			assert.Equal(t, c.index, failed.Index)
			assert.ErrorIs(t, err, ErrRefused)
			assert.Same(t, c.err, AsErrorx(err))
			assert.False(t, SafeToRetry(err), "the others have run")
			assert.ErrorContains(t, err, "request ")
		}
	}
	for exec, want := range map[any]error{
		nil: ErrRefused, error(ErrQueueFull.New("full")): ErrNotSent, error(ErrIO.New("lost")): ErrUnknown,
	} {
		s := &foreignSender{transaction: func(_ []Request, cb Future, n uint64) { cb.Resolve(exec, n) }}
		results, err := Sync{s}.Transact(reqs)
		assert.Nil(t, results)
		assert.ErrorIs(t, err, want)
		assert.NotErrorAs(t, err, new(*ResultError))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := SyncCtx{&foreignSender{}}.Transact(ctx, reqs)
	assert.ErrorIs(t, err, context.Canceled)
	assert.ErrorIs(t, err, ErrNotSent)
}

func TestTransactionResponse(t *testing.T) {
	list := []any{"OK", int64(1)}
	res, err := TransactionResponse(list)
	assert.NoError(t, err)
	assert.Equal(t, list, res)
	_, err = TransactionResponse(nil)
	assertType(t, ErrExecEmpty, err)
	assert.True(t, AsErrorx(err).IsOfType(ErrResult))
	failure := ErrIO.New("x")
	_, err = TransactionResponse(failure)
	assert.Equal(t, error(failure), err)
	for _, other := range []any{"canary", []byte("canary"), int64(12345678), map[string]any{"canary": 1}} {
		res, err = TransactionResponse(other)
		assert.Nil(t, res)
		assertType(t, ErrResponseUnexpected, err)
		assertNoSecret(t, err)
		kept, _ := AsErrorx(err).Property(EKResponse)
		assert.Equal(t, other, kept)
	}
}

// The error for a nil context names its request, like every error.
func TestNilContextNamesRequests(t *testing.T) {
	s := SyncCtx{echoing()}
	req := Req("ECHO", "a")
	for _, res := range append(s.SendMany(noContext, []Request{req}), s.Send(noContext, req)) {
		assertType(t, ErrContextIsNil, res)
		got, _ := AsErrorx(res).Property(EKRequest)
		assert.Equal(t, req, got)
	}
}
