package rediscluster

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
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
