package redis

import (
	"bytes"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestStreamRequest(t *testing.T) {
	long := strings.Repeat("0123456789", streamChunk/5)
	stream := func(text string) Stream { return Stream{strings.NewReader(text), int64(len(text))} }
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
		{"SET", []any{"k", Stream{strings.NewReader("longer"), 4}}, []any{"k", "long"}},
		{"SET", []any{"k", Stream{iotest.OneByteReader(strings.NewReader("slow")), 4}}, []any{"k", "slow"}},
	} {
		var out bytes.Buffer
		n, err := StreamRequest(&out, Request{c.cmd, c.args})
		require.NoError(t, err)
		assert.EqualValues(t, out.Len(), n)
		assert.Equal(t, encode(t, c.cmd, c.want...), out.String())
	}
}

func TestStreamRequestFails(t *testing.T) {
	var out bytes.Buffer
	for _, bad := range append(notArguments, Stream{}, Stream{strings.NewReader("x"), -1}) {
		n, err := StreamRequest(&out, Req("SET", "canary", bad))
		assertType(t, ErrArgumentType, err)
		assertNoSecret(t, err)
		assert.Zero(t, n)
		assert.Zero(t, out.Len(), "nothing is written")
	}
	n, err := StreamRequest(&out, Req("SET", "k", Stream{strings.NewReader("short"), 6}))
	assertType(t, ErrIO, err)
	assert.EqualValues(t, out.Len(), n)

	failure := errors.New("failure")
	_, err = StreamRequest(&out, Req("SET", "k", Stream{iotest.ErrReader(failure), 6}))
	assert.ErrorIs(t, err, failure)
	broken, end := io.Pipe()
	require.NoError(t, broken.CloseWithError(failure))
	for _, req := range []Request{Req("SET", "k", "v"), Req("SET", "k", Stream{strings.NewReader("x"), 1})} {
		n, err = StreamRequest(end, req)
		assert.ErrorIs(t, err, failure)
		assert.Zero(t, n)
	}
}

// A size without bounds is the server's to refuse.
func TestStreamOfAnySize(t *testing.T) {
	var out bytes.Buffer
	_, err := StreamRequest(&out, Req("SET", "k", Stream{strings.NewReader("v"), math.MaxInt64}))
	assertType(t, ErrIO, err)
	assert.Equal(t, "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$9223372036854775807\r\nv", out.String())
	out.Reset()
	_, err = StreamRequest(&out, Req("SET", "k", Stream{strings.NewReader("v"), 0}))
	assert.NoError(t, err)
	assert.Equal(t, "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$0\r\n\r\n", out.String())
}
