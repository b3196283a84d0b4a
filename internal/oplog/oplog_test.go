package oplog

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLogIsLimited(t *testing.T) {
	var out bytes.Buffer
	l := New(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelInfo})))
	now := time.Unix(0, 0)
	l.now = func() time.Time { return now }
	ctx := context.Background()
	for range 1000 {
		l.Write(ctx, slog.LevelWarn, "connection lost", slog.String("address", "here"))
		l.Write(ctx, slog.LevelDebug, "connecting")
	}
	require.Equal(t, Burst, strings.Count(out.String(), "redis.address=here"))
	l.Write(ctx, slog.LevelInfo, "connected")
	require.Equal(t, Burst+1, strings.Count(out.String(), "\n"), "another message has lines of its own")

	now = now.Add(Interval)
	out.Reset()
	for range 2 {
		l.Write(ctx, slog.LevelWarn, "connection lost")
	}
	require.Equal(t, 1, strings.Count(out.String(), "\n"))
	require.Contains(t, out.String(), "redis.suppressed=990")
}

type brokenHandler struct{ slog.Handler }

func (brokenHandler) Enabled(context.Context, slog.Level) bool { panic("broken") }

func TestLogThatFails(t *testing.T) {
	New(nil).Write(context.Background(), slog.LevelError, "silent")
	New(slog.New(brokenHandler{slog.DiscardHandler})).Write(context.Background(), slog.LevelError, "silent")
}

func TestLine(t *testing.T) {
	var out bytes.Buffer
	l := New(slog.New(slog.NewTextHandler(&out, nil)))
	line := Text("%s lost", "it").Slog(slog.LevelWarn, "redis lost", slog.Int("more", 2))
	assert.Equal(t, "it lost", line.Text)
	l.WriteLine(context.Background(), line, slog.String("address", "here"))
	assert.Contains(t, out.String(), `level=WARN msg="redis lost" redis.address=here redis.more=2`)

	line = Panicked("future", "canary", []byte("at 1"))
	assert.Equal(t, "future panicked: canary\nat 1", line.Text)
	l.WriteLine(context.Background(), line)
	assert.Contains(t, out.String(), `level=ERROR msg="redis future panicked" redis.type=string redis.stack="at 1"`)
	assert.NotContains(t, out.String(), "canary")
}

func TestLimit(t *testing.T) {
	var l Limit
	now := time.Unix(1, 0)
	admitted := func() (n, left int) {
		for range 1000 {
			if suppressed, ok := l.Admit(now); ok {
				n, left = n+1, left+suppressed
			}
		}
		return n, left
	}
	for _, c := range []struct {
		after   time.Duration
		n, left int
	}{{0, Burst, 0}, {3 * Interval, 3, 1000 - Burst}, {time.Hour, Burst, 1000 - 3}} {
		now = now.Add(c.after)
		n, left := admitted()
		require.Equal(t, c.n, n)
		require.Equal(t, c.left, left, "of before")
	}
}
