package redis

import (
	"errors"
	"testing"

	"github.com/joomcode/errorx"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCollect(t *testing.T) {
	reqs := []Request{Req("INCR", "a"), Req("GET", "b"), Req("SET", "c", 1), Req("HGETALL", "d"), Req("HMGET", "e", "name", "age")}
	var n int
	var text *string
	var p, q person
	results := []any{int64(3), nil, "OK", bulks("name", "x", "age", "1"), bulks("y", "2")}
	require.NoError(t, Collect(reqs, results, &n, &text, nil, &p, &q))
	assert.Equal(t, 3, n)
	assert.Nil(t, text)
	assert.Equal(t, person{Name: "x", Age: 1}, p)
	assert.Equal(t, person{Name: "y", Age: 2}, q)
	require.NoError(t, Collect(reqs, results))

	// Each error stands with its request, and what could be read is read.
	n, p = 0, person{}
	results = []any{int64(4), nil, ErrResult.New("ERR no"), bulks("name", "x", "age", "canary"), ErrIO.New("x")}
	var failed *BatchError
	err := Collect(reqs, results, &n, new(string), nil, &p)
	require.ErrorAs(t, err, &failed)
	assert.Equal(t, 4, n)
	assert.Zero(t, p)
	assert.NoError(t, failed.Errors[0])
	for i, typ := range []*errorx.Type{1: ErrResponseNil, 2: ErrResult, 3: ErrResponseUnexpected, 4: ErrIO} {
		if typ == nil {
			continue
		}
		assertType(t, typ, failed.Errors[i])
		req, _ := AsErrorx(failed.Errors[i]).Property(EKRequest)
		assert.Equal(t, reqs[i], req)
	}
	assert.Contains(t, err.Error(), "4 of 5 requests failed")
	assertNoSecret(t, err)
	assertType(t, ErrResponseNil, AsErrorx(err), "the first")
	assert.Equal(t, "no request failed", (&BatchError{}).Error())

	assertType(t, ErrResponseUnexpected, Collect(reqs, results[:4]))
	assertType(t, ErrArgumentType, Collect(reqs[:1], results[:1], &n, &n))
	assertType(t, ErrArgumentType, Collect(reqs, results, &n, n))
	assertType(t, ErrArgumentType, Collect(reqs, results, &n, (*person)(nil)))
	assertType(t, ErrArgumentType, Collect(reqs, results, new(chan int)))
}

func TestFirstError(t *testing.T) {
	assert.NoError(t, FirstError(nil))
	assert.NoError(t, FirstError([]any{nil, "x"}))
	foreign := errors.New("foreign")
	assert.ErrorIs(t, FirstError([]any{nil, foreign, ErrIO.New("x")}), foreign)
}
