package rediscluster

import (
	"context"
	"testing"

	"github.com/joomcode/errorx"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redistest"
)

func TestSplit(t *testing.T) {
	parts, where, err := split(redis.Req("MSET", "a{1}", 1, []byte("b{2}"), 2, "c{1}", 3), 2)
	require.NoError(t, err)
	assert.Equal(t, []redis.Request{redis.Req("MSET", "a{1}", 1, "c{1}", 3), redis.Req("MSET", []byte("b{2}"), 2)}, parts)
	assert.Equal(t, [][]int{{0, 2}, {1}}, where)

	_, _, err = split(redis.Req("MGET", "a", struct{}{}), 1)
	require.Error(t, err)
	assert.True(t, redis.AsErrorx(err).IsOfType(redis.ErrArgumentType))
}

func TestJoin(t *testing.T) {
	where := [][]int{{0, 2}, {1}}
	assert.Equal(t, []any{"a", "b", nil}, joinValues(3, []any{[]any{"a", nil}, []any{"b"}}, where))
	assert.Equal(t, int64(3), joinCounts(3, []any{int64(2), int64(1)}, where))
	for _, res := range []any{nil, "x", []any{"a"}} {
		for _, got := range []any{joinValues(3, []any{res, []any{"b"}}, where), joinCounts(3, []any{res, int64(1)}, where)} {
			assert.True(t, redis.AsErrorx(got).IsOfType(redis.ErrResponseUnexpected))
		}
	}
}

func TestSendSplitRefuses(t *testing.T) {
	res := SendSplit(context.Background(), nil, redis.Req("SINTER", "a", "b"))
	assert.True(t, redis.AsErrorx(res).IsOfType(redis.ErrNoSlotKey))
}

// The error of a write that has run in part is neither "not sent" nor "refused".
func TestSplitError(t *testing.T) {
	ok, refused := any("OK"), any(redis.ErrClusterDown.New("CLUSTERDOWN"))
	unsent, lost := any(ErrNoAliveConnection.New("down")), any(redis.ErrIO.New("lost"))
	for _, c := range []struct {
		results []any
		writes  bool
		want    any
	}{
		{[]any{ok, nil, int64(1)}, true, nil},
		{[]any{unsent, refused}, true, refused},
		{[]any{unsent, unsent}, true, unsent},
		{[]any{unsent, refused, lost, ok}, true, lost},
		{[]any{ok, unsent}, false, unsent},
		{[]any{nil, refused}, false, refused},
		{[]any{unsent, ok}, true, ErrSplit},
		{[]any{int64(0), refused}, true, ErrSplit},
	} {
		got := splitError(c.results, c.writes)
		switch want := c.want.(type) {
		case nil:
			assert.Nil(t, got)
		case *errorx.Type:
			isType(t, want, got)
			assert.Equal(t, redis.OutcomeUnknown, redis.OutcomeOf(got))
			assert.False(t, redis.SafeToRetry(got))
		default:
			assert.Same(t, want, got)
		}
	}
}

// If only one part was not sent, because its master is gone, the outcome of the whole command is not "not
// sent".
func TestSendSplitInPart(t *testing.T) {
	s := redistest.NewMock(t)
	s.Expect("MSET", "a", 1).Reply("OK")
	s.Expect("MSET", "b", 2).NotSent()
	res := SendSplit(t.Context(), s, redis.Req("MSET", "a", 1, "b", 2))
	isType(t, ErrSplit, res)
	req, _ := redis.AsErrorx(res).Property(redis.EKRequest)
	assert.Equal(t, redis.Req("MSET", "a", 1, "b", 2), req)
}
