package redis

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"

	"github.com/joomcode/redispipe/internal/values"
)

func TestReq(t *testing.T) {
	assert.Equal(t, Request{Cmd: "GET", Args: []any{"k"}}, Req("GET", "k"))
	assert.Equal(t, Request{"PING", nil}, Req("PING"))
	assert.Equal(t, "CLUSTER SLOTS", Req("cluster Slots").CommandName())
	assert.Equal(t, "CLIENT NOSUCH", Req("client nosuch").CommandName())
	assert.Equal(t, "JSON.DEBUG MEMORY", Req("json.debug memory", "k").CommandName())
	assert.Equal(t, "XREAD", Req("XREAD BLOCK", 1000).CommandName())
	assert.Equal(t, "GET", Req("get k").CommandName())
	assert.Empty(t, Request{}.CommandName())
}

func TestRequestString(t *testing.T) {
	for _, c := range []struct {
		req  Request
		want string
	}{
		{Req("set", "key", "0123456789a"), `Req("SET", 2 args, 1 key, 17 bytes)`},
		{Req("PING"), `Req("PING", 0 args, 0 keys, 4 bytes)`},
		{Req("MGET", "a", []byte("b"), 100), `Req("MGET", 3 args, 3 keys, 9 bytes)`},
		{Req("cluster slots"), `Req("CLUSTER SLOTS", 0 args, 0 keys, 12 bytes)`},
		{Req("CLUSTER", "slots"), `Req("CLUSTER SLOTS", 0 args, 0 keys, 12 bytes)`},
		{Req("AUTH hunter2"), `Req("AUTH", 1 arg, 0 keys, 11 bytes)`},
		{Req("AUTH", "user", "hunter2"), `Req("AUTH", 2 args, 0 keys, 15 bytes)`},
		{Req("graph.list secret"), `Req("graph.list", 1 arg, 0 keys, 16 bytes)`},
		{Req("SET", "k", struct{ p string }{"hunter2"}), `Req("SET", 2 args, 1 key, 4 bytes)`},
		{Req("hunter2!"), `Req("?", 0 args, 0 keys, 8 bytes)`},
		{Req(""), `Req("", 0 args, 0 keys, 0 bytes)`},
	} {
		assert.Equal(t, c.want, c.req.String())
	}
}

func TestCloneArgs(t *testing.T) {
	assert.Nil(t, values.CloneArgs(nil))
	assert.Nil(t, values.CloneArgs([]any{}))
	for _, c := range argumentTexts {
		clone := values.CloneArgs([]any{c.arg})[0]
		assert.IsType(t, c.arg, clone)
		text, ok := ArgToString(clone)
		assert.True(t, ok)
		assert.Equal(t, c.text, text)
	}
	b, s := []byte("bytes"), "string"
	clones := values.CloneArgs([]any{b, s})
	b[0] = 'x'
	assert.Equal(t, []any{[]byte("bytes"), "string"}, clones)
	assert.NotSame(t, unsafe.StringData(s), unsafe.StringData(clones[1].(string)), "of a string the bytes too")
	for _, bad := range notArguments {
		assert.Equal(t, []any{nil}, values.CloneArgs([]any{bad}), "%T", bad)
	}
}
