package redis

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/joomcode/errorx"
	"github.com/stretchr/testify/assert"

	"github.com/joomcode/redispipe/internal/errs"
)

func TestZeroTx(t *testing.T) {
	var tx Tx
	n := 0
	assert.ErrorIs(t, Err(tx.Do("GET", "key")), ErrNotSent)
	assert.True(t, errorx.IsOfType(tx.DoInto(&n, "GET", "key"), ErrSessionClosed))
	tx.Queue("GET", "key")
}

// A nil function is an error before anything is sent.
func TestNilFunctions(t *testing.T) {
	_, err := Watch(t.Context(), nil, []string{"key"}, nil)
	assert.True(t, AsErrorx(err).IsOfType(ErrSession), "%v", err)
	err = WithSession(t.Context(), nil, "", nil)
	assert.True(t, AsErrorx(err).IsOfType(ErrSession), "%v", err)
	assert.Equal(t, OutcomeNotSent, OutcomeOf(err))
}

// No request is sent with a zero future, which has no channel to wait for.
func TestZeroChanFutures(t *testing.T) {
	var tx ChanTransaction
	for _, f := range []*ChanFuture{nil, new(ChanFuture), &tx.ChanFuture} {
		<-f.Done()
		assert.Equal(t, OutcomeNotSent, OutcomeOf(f.Cancelled()))
		assert.ErrorIs(t, Err(f.Value()), ErrNotSent)
		f.Resolve("late", 0)
		assert.ErrorIs(t, Err(f.Value()), ErrNotSent)
	}
	_, err := tx.Results()
	assert.Equal(t, OutcomeNotSent, OutcomeOf(err))
}

// A future made of a nil function drops the result, like a nil future.
func TestNilFuncFuture(t *testing.T) {
	assert.NotPanics(t, func() { FuncFuture(nil).Resolve("OK", 0) })
	assert.NoError(t, FuncFuture(nil).Cancelled())
}

func TestZeroHotKeys(t *testing.T) {
	for _, k := range []*HotKeys{nil, new(HotKeys)} {
		assert.Empty(t, k.Top(1))
		assert.Empty(t, k.TopBytes(1))
	}
}

func TestZeroDecoder(t *testing.T) {
	d := new(Decoder)
	assert.Zero(t, d.Buffered())
	_, err := d.Next()
	assert.True(t, CausedBy(err, io.EOF), "%v", err)
	_, err = NewDecoder(nil, Limits{}).Decode()
	assert.True(t, CausedBy(err, io.EOF), "%v", err)
	d.Reset(bufio.NewReader(strings.NewReader("*1\r\n$1\r\nx\r\n")))
	res, err := d.Decode()
	assert.NoError(t, err)
	assert.Equal(t, []any{[]byte("x")}, res)
}

// Functions that take an error accept a nil pointer of one of the library's error types.
func TestTypedNilErrors(t *testing.T) {
	assert.Equal(t, OutcomeValue, OutcomeOf((*errorx.Error)(nil)))
	assert.False(t, CausedBy((*errorx.Error)(nil), io.EOF))
	for _, err := range []error{(*BatchError)(nil), (*ResultError)(nil)} {
		assert.Equal(t, OutcomeUnknown, OutcomeOf(err))
		assert.False(t, SafeToRetry(err) || CausedBy(err, io.EOF) || errors.Is(err, io.EOF))
		assert.Contains(t, AsErrorx(err).Error(), "no request failed")
	}
}

func TestScanNobody(t *testing.T) {
	new(ScannerBase).DoNext(FuncFuture(func(res any, _ uint64) {
		assert.True(t, AsErrorx(res).IsOfType(errs.ErrNoSender), "%v", res)
	}), nil)
}
