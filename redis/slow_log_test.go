package redis

import (
	"bytes"
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
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
