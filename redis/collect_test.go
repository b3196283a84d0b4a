package redis

import (
	"errors"
	"fmt"
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

	// Each error has the index of its request, and all other results are read.
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

// A retry of a batch is not safe if any of its requests has run or may have run.
func TestBatchErrorIsSafeToRetry(t *testing.T) {
	unsent, loading, lost := ErrQueueFull.New("full"), ErrLoading.New("LOADING"), ErrIO.New("lost")
	for _, c := range []struct {
		results []any
		safe    bool
	}{
		{[]any{unsent, loading}, true},
		{[]any{unsent, int64(1)}, false},
		{[]any{int64(1), loading}, false},
		{[]any{unsent, nil}, false},
		{[]any{unsent, lost}, false},
		{[]any{lost, unsent}, false},
		{[]any{unsent, ErrResult.New("ERR")}, false},
	} {
		err := Collect([]Request{Req("INCR", "a"), Req("INCR", "b")}, c.results)
		assert.Equal(t, c.safe, SafeToRetry(err), "%v", c.results)
		assert.Equal(t, c.safe, SafeToRetry(fmt.Errorf("wrapped: %w", err)), "%v", c.results)
	}
	assert.False(t, SafeToRetry(&BatchError{}))
	for _, joined := range []error{errors.Join(Err(unsent), Err(lost)), fmt.Errorf("%w, %w", lost, unsent), errors.Join(nil, fmt.Errorf("x: %w", errors.Join(unsent, lost)))} {
		assert.False(t, SafeToRetry(joined), "%v", joined)
		assert.Equal(t, OutcomeUnknown, OutcomeOf(joined), "%v", joined)
	}
	assert.True(t, SafeToRetry(errors.Join(Err(unsent), Err(loading), errors.New("of another"))))
	assert.Equal(t, OutcomeNotSent, OutcomeOf(errors.Join(Err(unsent), Err(unsent))))
}

// A batch has an outcome if all of its requests have the same one.
func TestOutcomeOfABatchError(t *testing.T) {
	unsent, refused, lost := ErrQueueFull.New("full"), ErrResult.New("ERR"), ErrIO.New("lost")
	for _, c := range []struct {
		results []any
		want    Outcome
	}{
		{[]any{unsent, unsent}, OutcomeNotSent},
		{[]any{refused, refused}, OutcomeRefused},
		{[]any{lost, lost}, OutcomeUnknown},
		{[]any{unsent, int64(1)}, OutcomeUnknown},
		{[]any{int64(1), unsent}, OutcomeUnknown},
		{[]any{refused, unsent}, OutcomeUnknown},
		{[]any{nil, refused}, OutcomeUnknown},
	} {
		err := Collect([]Request{Req("INCR", "a"), Req("INCR", "b")}, c.results)
		assert.Equal(t, c.want, OutcomeOf(err), "%v", c.results)
		assert.Equal(t, c.want, OutcomeOf(fmt.Errorf("wrapped: %w", err)), "%v", c.results)
	}
	assert.Equal(t, OutcomeUnknown, OutcomeOf(&BatchError{}))
}

func TestFirstError(t *testing.T) {
	assert.NoError(t, FirstError(nil))
	assert.NoError(t, FirstError([]any{nil, "x"}))
	foreign := errors.New("foreign")
	assert.ErrorIs(t, FirstError([]any{nil, foreign, ErrIO.New("x")}), foreign)
}

func TestRequestOf(t *testing.T) {
	for _, cmd := range []any{"INCR", "incr"} {
		req, err := RequestOf(cmd, "k")
		require.NoError(t, err)
		assert.Equal(t, Req(cmd.(string), "k"), req)
	}
	req, err := RequestOf(Req("INCR", "k").Into(new(int)))
	require.NoError(t, err)
	assert.Equal(t, Req("INCR", "k"), req)
	for _, args := range [][]any{{nil}, {3}, {Req("INCR", "k"), "more"}} {
		_, err := RequestOf(args[0], args[1:]...)
		assertType(t, ErrCommandFormat, err, args)
	}
}

func TestBatch(t *testing.T) {
	s := &fakeBatch{results: []any{int64(3), []byte("text"), ErrResult.New("ERR no")}}
	var n int
	var text string
	reading := Req("GET", "k").Into(&text)
	err := Batch(t.Context(), s, Req("INCR", "n").Into(&n), &reading, Req("DECR", "k"))
	var failed *BatchError
	require.ErrorAs(t, err, &failed)
	assert.Equal(t, []any{3, "text"}, []any{n, text})
	assert.NoError(t, failed.Errors[0])
	assertType(t, ErrResult, failed.Errors[2])

	s.sent = 0
	assertType(t, ErrArgumentType, Batch(t.Context(), s, Req("INCR", "n").Into(n)))
	assertType(t, ErrCommandFormat, Batch(t.Context(), s, Req("INCR", "n"), nil))
	assertType(t, ErrCommandFormat, Batch(t.Context(), s, Req("INCR", "n"), (*Reading)(nil)))
	assert.Zero(t, s.sent, "nothing is sent")
	assertType(t, ErrContextIsNil, Batch(nil, s, Req("INCR", "n"))) //nolint:staticcheck // what it says of no context
}

// fakeBatch is a sender that answers the requests of a batch with results.
type fakeBatch struct {
	Sender
	results []any
	sent    int
}

func (f *fakeBatch) SendMany(reqs []Request, cb Future, start uint64) {
	for i := range reqs {
		f.sent++
		cb.Resolve(f.results[i], start+uint64(i))
	}
}

func TestDoAs(t *testing.T) {
	text, err := DoAs[string](t.Context(), fakeOne{[]byte("text")}, "GET", "k")
	require.NoError(t, err)
	assert.Equal(t, "text", text)
	some, err := DoAs[[]int](t.Context(), fakeOne{[]any{int64(1)}}, "LRANGE", "k", 0, -1)
	require.NoError(t, err)
	assert.Equal(t, []int{1}, some)
	n, err := DoAs[int64](t.Context(), fakeOne{[]byte("text")}, "GET", "k")
	assertType(t, ErrResponseUnexpected, err)
	assert.Zero(t, n)
	_, err = DoAs[int64](t.Context(), fakeOne{nil}, "GET", "k")
	assertType(t, ErrResponseNil, err)
	_, err = DoAs[int64](nil, fakeOne{nil}, "GET", "k") //nolint:staticcheck // what it says of no context
	assertType(t, ErrContextIsNil, err)
	_, err = DoAs[chan int](t.Context(), fakeOne{nil}, "GET", "k")
	assertType(t, ErrArgumentType, err)
}

// fakeOne is a sender that answers each request with result.
type fakeOne struct{ result any }

func (f fakeOne) Send(_ Request, cb Future, n uint64)                  { cb.Resolve(f.result, n) }
func (f fakeOne) SendMany(_ []Request, cb Future, start uint64)        { cb.Resolve(f.result, start) }
func (f fakeOne) SendTransaction(_ []Request, cb Future, start uint64) { cb.Resolve(f.result, start) }
func (f fakeOne) Scanner(ScanOpts) Scanner                             { return nil }
func (f fakeOne) EachShard(func(Sender, error) bool)                   {}
func (f fakeOne) Close()                                               {}
