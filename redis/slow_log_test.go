package redis

import (
	"bytes"
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSlowLog(t *testing.T) {
	var out bytes.Buffer
	l := slog.New(slog.NewJSONHandler(&out, nil))
	hook := NewSlowLog(l, time.Second)
	Sync{WithHook(placing("fine"), hook)}.Do("GET", "canary")
	assert.Empty(t, out.String())

	Sync{WithHook(placing(ErrIO.New("no answer")), hook)}.Do("GET", "canary")
	for _, want := range []string{`"msg":"redis operation failed"`, `"redis":{"command":"GET","requests":1,`, `"outcome":"unknown","address":"there"`, "no answer"} {
		assert.Contains(t, out.String(), want)
	}
	assert.NotContains(t, out.String(), "canary")

	out.Reset()
	hook.After(context.Background(), Operation{Command: "SORT", Requests: 1}, Completion{Duration: time.Second})
	assert.Contains(t, out.String(), `"msg":"redis operation slow"`)
	out.Reset()
	NewSlowLog(l, 0).After(context.Background(), Operation{}, Completion{Duration: time.Hour})
	hook.After(context.Background(), Operation{Command: "BLPOP", Requests: 1}, Completion{Duration: time.Hour})
	NewSlowLog(nil, 1).After(context.Background(), Operation{}, Completion{Duration: time.Hour})
	assert.Empty(t, out.String())
}

// If a reader must create its group, its error is not logged, unless the group existed before.
func TestSlowLogOfAGroupThatIsMade(t *testing.T) {
	var out bytes.Buffer
	hook := NewSlowLog(slog.New(slog.NewJSONHandler(&out, nil)), 0)
	made := false
	s := &foreignSender{send: func(r Request, cb Future, n uint64) {
		switch {
		case r.Cmd == "XGROUP CREATE":
			made = true
			cb.Resolve("OK", n)
		case r.Cmd == "XAUTOCLAIM":
			cb.Resolve([]any{[]byte("0-0"), []any{}, []any{}}, n)
		case !made:
			cb.Resolve(ErrResult.New("NOGROUP No such key"), n)
		case r.Cmd == "XREADGROUP" && r.Args[len(r.Args)-1] == ">":
			cb.Resolve([]any{[]any{[]byte("s"), []any{[]any{[]byte("1-1"), []any{[]byte("a"), []byte("b")}}}}}, n)
		default:
			cb.Resolve(nil, n)
		}
	}}
	r, err := NewGroupReader(WithHook(s, hook), GroupOpts{Stream: "s", Group: "g", Consumer: "c"})
	require.NoError(t, err)
	for _, err := range r.Messages(t.Context()) {
		require.NoError(t, err)
		require.True(t, made)
		break
	}
	assert.Empty(t, out.String())
	made = false
	for _, err := range r.Messages(t.Context()) {
		assertType(t, ErrGroupDestroyed, err)
		break
	}
	assert.Contains(t, out.String(), "NOGROUP")
}
