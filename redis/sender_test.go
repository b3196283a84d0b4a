package redis

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
)

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
