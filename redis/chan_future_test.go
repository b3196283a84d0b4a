package redis_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redistest"
)

func TestChanFutured(t *testing.T) {
	mock := redistest.NewMock(t)
	s := redis.ChanFutured{S: mock}
	answer := make(chan any)
	mock.Expect("GET", "k").ReplyFunc(func(redis.Request) any { return <-answer })
	f := s.Send(redis.Req("GET", "k"))
	assert.NoError(t, f.Cancelled())
	select {
	case <-f.Done():
		t.Fatal("done")
	default:
	}
	answer <- "one"
	<-f.Done()
	assert.Equal(t, "one", f.Value())
	assert.Equal(t, "one", f.Value(), "again")

	mock.Expect("ECHO", "a").Reply("a")
	mock.Expect("ECHO", "b").Reply("b")
	many := s.SendMany([]redis.Request{redis.Req("ECHO", "a"), redis.Req("ECHO", "b")})
	require.Len(t, many, 2)
	assert.NoError(t, many.Cancelled())
	assert.Equal(t, "a", many[0].Value())
	assert.Equal(t, "b", many[1].Value())
	assert.Empty(t, s.SendMany(nil))
}

func TestChanTransaction(t *testing.T) {
	mock := redistest.NewMock(t)
	s := redis.ChanFutured{S: mock}
	req := redis.Req("SET", "k", "v")
	mock.ExpectTransaction(req).Reply([]any{"OK"})
	f := s.SendTransaction([]redis.Request{req})
	<-f.Done()
	res, err := f.Results()
	assert.NoError(t, err)
	assert.Equal(t, []any{"OK"}, res)

	mock.ExpectTransaction(req).Reply(nil)
	_, err = s.SendTransaction([]redis.Request{req}).Results()
	assert.True(t, redis.AsErrorx(err).IsOfType(redis.ErrExecEmpty), "%v", err)
}

func TestFuncFuture(t *testing.T) {
	var got any
	f := redis.FuncFuture(func(res any, n uint64) { got = []any{res, n} })
	f.Resolve("a", 7)
	assert.Equal(t, []any{"a", uint64(7)}, got)
	assert.NoError(t, f.Cancelled())
}
