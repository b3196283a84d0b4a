package rediscluster

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/backend"
	"github.com/joomcode/redispipe/internal/command"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster/redisclusterutil"
)

func TestEncodeDecode(t *testing.T) {
	long := strings.Repeat("\r\n$1", 1000)
	foo := int(redisclusterutil.Slot("foo"))
	cases := []struct {
		in     redis.Request
		want   redis.Request
		slot   int
		repeat bool
	}{
		{redis.Req("GET", "foo"), redis.Req("GET", "foo"), foo, true},
		{redis.Req("SET", []byte("foo"), 12), redis.Req("SET", "foo", "12"), foo, false},
		{redis.Req("SET", "foo", long), redis.Req("SET", "foo", long), foo, false},
		{redis.Req("SET", "foo", nil), redis.Req("SET", "foo", ""), foo, false},
		{redis.Req("OBJECT ENCODING", "foo"), redis.Req("OBJECT ENCODING", "foo"), foo, true},
		{redis.Req("OBJECT", "ENCODING", "foo"), redis.Req("OBJECT", "ENCODING", "foo"), foo, true},
		{redis.Req("GET foo"), redis.Req("GET foo"), foo, true},
		{redis.Req("PING"), redis.Req("PING"), send.NoSlot, false},
		{redis.Req("KEYS", "*"), redis.Req("KEYS", "*"), send.NoSlot, true},
		{redis.Req("MGET", "foo", "bar"), redis.Req("MGET", "foo", "bar"), send.ManySlots, true},
		{redis.Req("EVAL", "return 1", 1, "foo"), redis.Req("EVAL", "return 1", "1", "foo"), foo, false},
	}
	buf := []byte("before")
	var kept []send.Request
	for _, c := range cases {
		var r send.Request
		var err error
		r, buf, err = backend.Encode(buf, c.in, true)
		require.NoError(t, err)
		assert.Equal(t, c.slot, r.Slot, c.in.Cmd)
		assert.Equal(t, c.repeat, r.ReadOnly, c.in.Cmd)
		kept = append(kept, r)
	}
	for i, c := range cases {
		got := decode(&kept[i])
		assert.Equal(t, c.want.Cmd, got.Cmd)
		assert.Equal(t, append([]any{}, c.want.Args...), append([]any{}, got.Args...))
	}
	_, after, err := backend.Encode(buf, redis.Req("SET", "foo", struct{}{}), true)
	assert.Error(t, err)
	assert.Equal(t, buf, after)

	r, _, err := backend.Encode(nil, redis.Req(" GET", "foo"), true)
	require.NoError(t, err)
	assert.Equal(t, command.Malformed, r.Shared)
	assert.Equal(t, send.NoSlot, r.Slot)
}
