package redis

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

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
	err := Batch(t.Context(), s, Req("INCR", "n").Into(&n), Req("GET", "k").Into(&text), Req("DECR", "k"))
	var failed *BatchError
	require.ErrorAs(t, err, &failed)
	assert.Equal(t, []any{3, "text"}, []any{n, text})
	assert.NoError(t, failed.Errors[0])
	assertType(t, ErrResult, failed.Errors[2])

	s.sent = 0
	assertType(t, ErrArgumentType, Batch(t.Context(), s, Req("INCR", "n").Into(n)))
	assert.Zero(t, s.sent, "nothing is sent")
	assertType(t, ErrContextIsNil, Batch(nil, s, Req("INCR", "n"))) //nolint:staticcheck // what it says of no context
}

// fakeBatch answers requests with results.
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

// fakeOne answers each request with a result.
type fakeOne struct{ result any }

func (f fakeOne) Send(_ Request, cb Future, n uint64)                  { cb.Resolve(f.result, n) }
func (f fakeOne) SendMany(_ []Request, cb Future, start uint64)        { cb.Resolve(f.result, start) }
func (f fakeOne) SendTransaction(_ []Request, cb Future, start uint64) { cb.Resolve(f.result, start) }
func (f fakeOne) Scanner(ScanOpts) Scanner                             { return nil }
func (f fakeOne) EachShard(func(Sender, error) bool)                   {}
func (f fakeOne) Close()                                               {}
