package oplog

import (
	"bytes"
	"context"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/assert"
)

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
