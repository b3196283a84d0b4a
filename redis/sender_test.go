package redis

import (
	"context"
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

// Each way to send through a nil Sender returns an error and does not panic.
func TestNilSender(t *testing.T) {
	ctx := context.Background()
	reqs := []Request{Req("SET", "key", "canary"), Req("GET", "key")}
	for name, s := range map[string]Sender{
		"nil":  nil,
		"hook": WithHook(nil, NewSlowLog(nil, 0)),
	} {
		var text string
		_, transacted := SyncCtx{s}.Transact(ctx, reqs)
		_, scanned := SyncCtx{s}.Scanner(ctx, ScanOpts{}).Next()
		_, scannedSync := Sync{s}.Scanner(ScanOpts{}).Next()
		_, as := DoAs[string](ctx, s, "GET", "key")
		_, session := OpenSession(ctx, s, "")
		_, watched := Watch(ctx, s, []string{"key"}, func(*Tx) error { return nil })
		failures := []any{
			Sync{s}.Do("GET", "key"), SyncCtx{s}.Send(ctx, reqs[0]), SyncCtx{s}.DoInto(ctx, &text, "GET", "key"), as,
			transacted, scanned, scannedSync, session, watched,
			ChanFutured{s}.Send(reqs[0]).Value(), ChanFutured{s}.SendTransaction(reqs).Value(),
			NewScript("return 1").Do(ctx, s, nil), NewScript("return 1").ServerHash().Do(ctx, s, nil),
			NewScript("return 1").Load(ctx, s), NewLibrary("#!lua name=l").Load(ctx, s),
			NewLibrary("#!lua name=l").Function("f").Do(ctx, s, nil),
		}
		failures = append(failures, SyncCtx{s}.SendMany(ctx, reqs)...)
		for _, f := range (ChanFutured{s}).SendMany(reqs) {
			failures = append(failures, f.Value())
		}
		for _, err := range Keys(ctx, s, ScanOpts{}) {
			failures = append(failures, err)
		}
		assert.Len(t, failures, 21, name)
		for i, res := range failures {
			err := Err(res)
			assert.ErrorContains(t, err, "the sender is nil", "%s, %d", name, i)
			assert.NotContains(t, err.Error(), "canary")
			assert.True(t, ErrOpts.IsNamespaceOf(AsErrorx(err).Type()), "%s, %d", name, i)
			assert.ErrorIs(t, err, ErrNotSent)
			assert.False(t, SafeToRetry(err))
		}
	}
	assert.ErrorContains(t, Err(Sync{WithScripts(nil)}.Do("GET", "key")), "the sender is nil")
	_, err := SyncIterator{}.Next()
	assert.ErrorContains(t, err, "the sender is nil")
	group, err := NewGroupReader(nil, GroupOpts{Stream: "s", Group: "g", Consumer: "c"})
	assert.NoError(t, err)
	for _, err := range group.Messages(ctx) {
		assert.ErrorContains(t, err, "the sender is nil")
		break
	}
}
