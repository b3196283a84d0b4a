package redis

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestChanFutured(t *testing.T) {
	var held []func()
	s := &foreignSender{
		send: func(_ Request, cb Future, n uint64) { held = append(held, func() { cb.Resolve("one", n) }) },
		sendMany: func(reqs []Request, cb Future, start uint64) {
			for i, r := range reqs {
				cb.Resolve(r.Args[0], start+uint64(i))
			}
			assert.NoError(t, cb.Cancelled())
		},
	}
	f := ChanFutured{s}.Send(Req("GET", "k"))
	assert.NoError(t, f.Cancelled())
	select {
	case <-f.Done():
		t.Fatal("done")
	default:
	}
	held[0]()
	<-f.Done()
	assert.Equal(t, "one", f.Value())
	assert.Equal(t, "one", f.Value(), "again")

	many := ChanFutured{s}.SendMany([]Request{Req("ECHO", "a"), Req("ECHO", "b")})
	require.Len(t, many, 2)
	assert.Equal(t, "a", many[0].Value())
	assert.Equal(t, "b", many[1].Value())
	assert.Empty(t, ChanFutured{s}.SendMany(nil))
}

func TestChanTransaction(t *testing.T) {
	var answer any = []any{"OK"}
	s := ChanFutured{&foreignSender{transaction: func(_ []Request, cb Future, n uint64) { cb.Resolve(answer, n) }}}
	f := s.SendTransaction([]Request{Req("SET", "k", "v")})
	<-f.Done()
	res, err := f.Results()
	assert.NoError(t, err)
	assert.Equal(t, []any{"OK"}, res)
	answer = nil
	_, err = s.SendTransaction(nil).Results()
	assertType(t, ErrExecEmpty, err)
}

func TestFuncFuture(t *testing.T) {
	var got any
	f := FuncFuture(func(res any, n uint64) { got = []any{res, n} })
	f.Resolve("a", 7)
	assert.Equal(t, []any{"a", uint64(7)}, got)
	assert.NoError(t, f.Cancelled())
}
