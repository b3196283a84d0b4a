package redisconn

import (
	"bytes"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/joomcode/errorx"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
)

func TestWriteStreamed(t *testing.T) {
	long := strings.Repeat("0123456789", streamChunk/5)
	stream := func(text string) redis.Stream { return streamOf(strings.NewReader(text), int64(len(text))) }
	for _, c := range []struct {
		cmd  string
		args []any
		want []any
	}{
		{"PING", nil, nil},
		{"SET", []any{"k", "v"}, []any{"k", "v"}},
		{"SET", []any{"k", stream("value")}, []any{"k", "value"}},
		{"SET", []any{"k", stream(long), "EX", 7}, []any{"k", long, "EX", 7}},
		{"MSET", []any{stream("k"), stream(""), nil, stream(long)}, []any{"k", "", nil, long}},
		{"CONFIG SET", []any{"k", stream("v")}, []any{"k", "v"}},
		{"SET", []any{"k", streamOf(strings.NewReader("longer"), 4)}, []any{"k", "long"}},
		{"SET", []any{"k", streamOf(iotest.OneByteReader(strings.NewReader("slow")), 4)}, []any{"k", "slow"}},
	} {
		var out bytes.Buffer
		require.NoError(t, writeStreamed(&out, redis.Request{Cmd: c.cmd, Args: c.args}))
		assert.Equal(t, encoded(t, c.cmd, c.want...), out.String())
	}
}

func TestWriteStreamFails(t *testing.T) {
	var out bytes.Buffer
	for _, bad := range []any{struct{}{}, []string{"canary"}, map[string]any{}, new(int), make(chan int), redis.Stream{}, streamOf(strings.NewReader("x"), -1)} {
		err := writeStreamed(&out, redis.Req("SET", "canary", bad))
		requireType(t, redis.ErrArgumentType, err)
		assert.NotContains(t, err.Error(), "canary")
		assert.Zero(t, out.Len(), "nothing is written")
	}
	for text, req := range map[string]redis.Request{
		"takes no duration there": redis.Req("BLPOP", time.Second, "k", 0),
		"not a whole number":      redis.Req("SET", "k", streamOf(strings.NewReader("v"), 1), "EX", 1500*time.Millisecond),
	} {
		err := writeStreamed(&out, req)
		requireType(t, redis.ErrArgumentType, err)
		require.ErrorContains(t, err, text)
		assert.Zero(t, out.Len(), "nothing is written")
	}
	requireType(t, redis.ErrIO, writeStreamed(&out, redis.Req("SET", "k", streamOf(strings.NewReader("short"), 6))))

	failure := errors.New("failure")
	assert.ErrorIs(t, writeStreamed(&out, redis.Req("SET", "k", streamOf(iotest.ErrReader(failure), 6))), failure)
	broken, end := io.Pipe()
	require.NoError(t, broken.CloseWithError(failure))
	for _, req := range []redis.Request{redis.Req("SET", "k", "v"), redis.Req("SET", "k", streamOf(strings.NewReader("x"), 1))} {
		assert.ErrorIs(t, writeStreamed(end, req), failure)
	}
}

// The client does not bound the size of a stream. A server may refuse it.
func TestWriteStreamOfAnySize(t *testing.T) {
	var out bytes.Buffer
	requireType(t, redis.ErrIO, writeStreamed(&out, redis.Req("SET", "k", streamOf(strings.NewReader("v"), math.MaxInt64))))
	assert.Equal(t, "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$9223372036854775807\r\nv", out.String())
	out.Reset()
	assert.NoError(t, writeStreamed(&out, redis.Req("SET", "k", streamOf(strings.NewReader("v"), 0))))
	assert.Equal(t, "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$0\r\n\r\n", out.String())
}

func encoded(t *testing.T, cmd string, args ...any) string {
	t.Helper()
	out, err := redis.AppendRequest(nil, redis.Req(cmd, args...))
	require.NoError(t, err)
	return string(out)
}

func requireType(t *testing.T, want *errorx.Type, err error) {
	t.Helper()
	require.True(t, errorx.IsOfType(err, want), "%v", err)
}

func streamOf(r io.Reader, size int64) redis.Stream { return redis.Stream{R: r, Size: size} }
