package redis

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/joomcode/errorx"
)

func TestScanOptsRequest(t *testing.T) {
	for _, c := range []struct {
		opts ScanOpts
		it   []byte
		want []string
	}{
		{ScanOpts{}, nil, []string{"SCAN", "0"}},
		{ScanOpts{Cmd: "SCAN", Key: "ignored"}, []byte("12"), []string{"SCAN", "12"}},
		{ScanOpts{Cmd: "scan", Match: "a*", Count: 100}, nil, []string{"scan", "0", "MATCH", "a*", "COUNT", "100"}},
		{ScanOpts{Cmd: "HSCAN", Key: "h", Count: -1}, []byte("5"), []string{"HSCAN", "h", "5"}},
		{ScanOpts{Cmd: "ClusterScan", Key: "ignored"}, []byte("0-{06S}-0"), []string{"ClusterScan", "0-{06S}-0"}},
		{ScanOpts{Cmd: "ZSCAN", Match: "*"}, nil, []string{"ZSCAN", "", "0", "MATCH", "*"}},
	} {
		req := c.opts.Request(c.it)
		assert.Equal(t, c.want, words(t, []byte(encode(t, req.Cmd, req.Args...))))
	}
}

func TestScanResponse(t *testing.T) {
	it, keys, err := ScanResponse([]any{[]byte("18446744073709551615"), []any{[]byte("a"), "b", []byte{}}})
	assert.NoError(t, err)
	assert.Equal(t, "18446744073709551615", string(it))
	assert.Equal(t, []string{"a", "b", ""}, keys)
	_, keys, err = ScanResponse([]any{[]byte("0"), []any{}})
	assert.NoError(t, err)
	assert.Empty(t, keys)

	failure := ErrIO.New("x")
	_, _, err = ScanResponse(failure)
	assert.Equal(t, error(failure), err)
	for _, bad := range []any{
		nil, "canary", []byte("canary"), int64(0), []any{}, []any{[]byte("0")}, []any{[]byte("0"), []any{}, []any{}},
		[]any{int64(0), []any{}}, []any{nil, []any{}},
		[]any{[]byte("0"), nil}, []any{[]byte("0"), []byte("canary")},
		[]any{[]byte("0"), []any{nil}}, []any{[]byte("0"), []any{[]byte("canary"), int64(1)}}, map[string]any{"canary": 1},
	} {
		_, _, err = ScanResponse(bad)
		assertType(t, ErrResponseUnexpected, err, bad)
		assertNoSecret(t, err)
	}
}

// pages returns a sender that answers successive SCANs with these replies.
func pages(replies ...any) *foreignSender {
	s := &foreignSender{}
	s.send = func(_ Request, cb Future, n uint64) {
		reply := replies[0]
		replies = replies[1:]
		cb.Resolve(reply, n)
	}
	return s
}

// walker is a Scanner that uses ScannerBase as other packages do.
type walker struct {
	ScannerBase
	s Sender
}

func (w *walker) Next(cb Future) {
	if w.Err != nil || w.IterLast() {
		cb.Resolve(ScanEOF, 0)
		return
	}
	w.DoNext(cb, w.s)
}

func TestScannerBase(t *testing.T) {
	s := pages(
		[]any{[]byte("7"), []any{[]byte("a")}},
		[]any{[]byte("9"), []any{}},
		[]any{[]byte("0"), []any{[]byte("b"), []byte("c")}},
	)
	s.scanner = func(opts ScanOpts) Scanner { return &walker{ScannerBase{ScanOpts: opts}, s} }
	it := Sync{s}.Scanner(ScanOpts{})
	var got [][]string
	for {
		keys, err := it.Next()
		if err != nil {
			assert.Equal(t, ScanEOF, err)
			break
		}
		got = append(got, keys)
	}
	assert.Equal(t, [][]string{{"a"}, {}, {"b", "c"}}, got)
	_, err := it.Next()
	assert.Equal(t, ScanEOF, err, "again")

	w := &walker{s: pages(ErrIO.New("x"))}
	var res any
	w.Next(FuncFuture(func(r any, _ uint64) { res = r }))
	assertType(t, ErrIO, res)
	assertType(t, ErrIO, w.Err)
	req, _ := AsErrorx(w.Err).Property(EKRequest)
	assert.Equal(t, Req("SCAN", []byte("0")), req)
	assert.False(t, w.IterLast())
	assert.NoError(t, w.Cancelled())

	base := &ScannerBase{Iter: []byte("00")}
	assert.False(t, base.IterLast())
	base.DoNext(nil, pages([]any{[]byte("0"), []any{}}))
	assert.True(t, base.IterLast(), "a nil future is allowed")
	base.DoNext(cancelledFuture{}, &foreignSender{send: func(_ Request, cb Future, _ uint64) {
		assert.Error(t, cb.Cancelled(), "that of the caller's future")
	}})
}

type cancelledFuture struct{}

func (cancelledFuture) Resolve(any, uint64) {}
func (cancelledFuture) Cancelled() error    { return errors.New("cancelled") }

type scannerFunc func(cb Future)

func (s scannerFunc) Next(cb Future) { s(cb) }

func TestSyncIterators(t *testing.T) {
	next := func(cb Future) { cb.Resolve("no list", 0) }
	s := &foreignSender{scanner: func(ScanOpts) Scanner { return scannerFunc(func(cb Future) { next(cb) }) }}
	_, err := Sync{s}.Scanner(ScanOpts{}).Next()
	assertType(t, ErrResponseUnexpected, err)

	_, err = SyncCtx{s}.Scanner(nil, ScanOpts{}).Next() //nolint:staticcheck // that is what is tested
	assertType(t, ErrContextIsNil, err)

	ctx, cancel := context.WithCancel(t.Context())
	it := SyncCtx{s}.Scanner(ctx, ScanOpts{})
	next = func(cb Future) { cb.Resolve([]string{"a"}, 0) }
	keys, err := it.Next()
	assert.NoError(t, err)
	assert.Equal(t, []string{"a"}, keys)
	next = func(Future) { cancel() }
	_, err = it.Next()
	assertType(t, ErrRequestCancelled, err)
	next = func(Future) { t.Error("sent after the end of the context") }
	_, err = it.Next()
	assertType(t, ErrRequestWithdrawn, err)
}

// If a caller leaves during a step of a scan, the error names the request, whether or not it was
// sent.
func TestScanStepNamesRequest(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := &foreignSender{send: func(Request, Future, uint64) { cancel() }}
	s.scanner = func(opts ScanOpts) Scanner { return &baseScanner{ScannerBase{ScanOpts: opts}, s} }
	it := SyncCtx{s}.Scanner(ctx, ScanOpts{Cmd: "HSCAN", Key: "k"})
	for _, want := range []*errorx.Type{ErrRequestCancelled, ErrRequestWithdrawn} {
		_, err := it.Next()
		assertType(t, want, err)
		req, _ := AsErrorx(err).Property(EKRequest)
		assert.Equal(t, Request{"HSCAN", []any{"k", []byte("0")}}, req)
	}
}
