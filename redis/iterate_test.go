package redis

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// scriptedScan answers a scan with batches and then with err, if it is not nil.
type scriptedScan struct {
	batches [][]string
	err     error
	opts    ScanOpts
	steps   int
}

func (w *scriptedScan) sender() Sender {
	return &foreignSender{scanner: func(opts ScanOpts) Scanner {
		w.opts, w.steps = opts, 0
		return w
	}}
}

func (w *scriptedScan) Next(cb Future) {
	w.steps++
	switch i := w.steps - 1; {
	case i < len(w.batches):
		cb.Resolve(w.batches[i], 0)
	case w.err != nil:
		cb.Resolve(w.err, 0)
	default:
		cb.Resolve(ScanEOF, 0)
	}
}

func TestIterators(t *testing.T) {
	ctx := t.Context()
	w := &scriptedScan{batches: [][]string{{}, {"1", "2"}, {"3", "4"}}}
	keys := Keys(ctx, w.sender(), ScanOpts{Match: "*", Cmd: "HSCAN"})
	for range 2 { // the second loop starts over
		assert.Equal(t, []string{"1", "2", "3", "4"}, all(t, keys))
		assert.Equal(t, ScanOpts{Cmd: "SCAN", Match: "*"}, w.opts)
	}
	assert.Equal(t, []Field[int]{{"1", 2}, {"3", 4}}, all(t, Fields[int](ctx, w.sender(), ScanOpts{Key: "k"})))
	assert.Equal(t, ScanOpts{Cmd: "HSCAN", Key: "k"}, w.opts)
	assert.Equal(t, []named{"1", "2", "3", "4"}, all(t, Members[named](ctx, w.sender(), ScanOpts{Key: "k"})))
	assert.Equal(t, "SSCAN", w.opts.Cmd)
	assert.Equal(t, []Scored[string]{{"1", 2}, {"3", 4}}, all(t, ScoredMembers[string](ctx, w.sender(), ScanOpts{Key: "k"})))
	assert.Equal(t, "ZSCAN", w.opts.Cmd)
}

func all[T any](t *testing.T, seq func(func(T, error) bool)) (found []T) {
	t.Helper()
	for el, err := range seq {
		require.NoError(t, err)
		found = append(found, el)
	}
	return found
}

func TestIteratorBreak(t *testing.T) {
	w := &scriptedScan{batches: [][]string{{"1", "2"}, {"3"}}}
	for range Keys(t.Context(), w.sender(), ScanOpts{}) {
		break
	}
	assert.Equal(t, 1, w.steps, "nothing is asked for that is not used")
}

func TestIteratorErrors(t *testing.T) {
	last := func(seq func(func(string, error) bool)) (found []string, err error) {
		for key, e := range seq {
			require.NoError(t, err, "an error is the last")
			if err = e; e == nil {
				found = append(found, key)
			}
		}
		return found, err
	}
	w := &scriptedScan{batches: [][]string{{"1"}}, err: ErrIO.New("x")}
	found, err := last(Keys(t.Context(), w.sender(), ScanOpts{}))
	assertType(t, ErrIO, err)
	assert.Equal(t, []string{"1"}, found)
	req, _ := AsErrorx(err).Property(EKRequest)
	assert.Equal(t, Req("SCAN"), req)

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for _, err = range Keys(ctx, w.sender(), ScanOpts{}) {
		cancel()
	}
	assertType(t, ErrRequestWithdrawn, err)

	w = &scriptedScan{batches: [][]string{{"1", "canary"}, {"1"}}}
	for _, err = range Fields[int](t.Context(), w.sender(), ScanOpts{}) {
		assertType(t, ErrResponseUnexpected, err)
		assertNoSecret(t, err)
	}
	for _, err = range ScoredMembers[string](t.Context(), w.sender(), ScanOpts{}) {
		assertType(t, ErrResponseUnexpected, err)
	}
	w.batches = w.batches[1:]
	for _, err = range Fields[string](t.Context(), w.sender(), ScanOpts{}) {
		assertType(t, ErrResponseUnexpected, err)
	}
	for _, err = range Members[chan int](t.Context(), w.sender(), ScanOpts{}) {
		assertType(t, ErrResponseUnexpected, err)
	}
	w = &scriptedScan{err: errors.New("foreign")}
	for _, err = range Members[string](t.Context(), w.sender(), ScanOpts{}) {
		assert.EqualError(t, err, "foreign")
	}
	for _, err = range Members[string](noContext, w.sender(), ScanOpts{}) {
		assertType(t, ErrContextIsNil, err)
	}
}
