package redis

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

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
