package redis

import (
	"bufio"
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

func TestDecodeTo(t *testing.T) {
	long := strings.Repeat("0123456789", 20<<10)
	for _, c := range []struct {
		text, written string
		want          any
	}{
		{"$5\r\nhello\r\n", "hello", int64(5)},
		{"$0\r\n\r\n", "", int64(0)},
		{"$204800\r\n" + long + "\r\n", long, int64(len(long))},
		{">1\r\n+push\r\n$1\r\na\r\n", "a", int64(1)},
		{"$-1\r\n", "", nil},
		{"_\r\n", "", nil},
		{":7\r\n", "", int64(7)},
		{"*1\r\n$1\r\na\r\n", "", []any{[]byte("a")}},
	} {
		var out bytes.Buffer
		d := NewDecoder(bufio.NewReader(strings.NewReader(c.text+"next")), Limits{})
		res, err := d.DecodeTo(&out)
		require.NoError(t, err)
		assert.Equal(t, c.want, res)
		assert.Equal(t, c.written, out.String())
		assert.Equal(t, len("next"), d.Buffered())
	}
	res, err := NewDecoder(bufio.NewReader(strings.NewReader("-ERR no\r\n")), Limits{}).DecodeTo(io.Discard)
	require.NoError(t, err)
	assertType(t, ErrResult, res)
}

func TestDecodeToFails(t *testing.T) {
	text := "$100\r\n" + strings.Repeat("x", 100) + "\r\n"
	for n := range len(text) {
		_, err := NewDecoder(bufio.NewReader(strings.NewReader(text[:n])), Limits{}).DecodeTo(io.Discard)
		assertType(t, ErrIO, err, n)
	}
	failure := errors.New("failure")
	_, err := NewDecoder(bufio.NewReader(strings.NewReader(text)), Limits{}).DecodeTo(failingWriter{failure})
	assertType(t, ErrIO, err)
	assert.Equal(t, failure, AsErrorx(err).Cause())
	for text, typ := range map[string]string{
		"$3\r\nabc\n\r": ErrNoFinalRN.FullName(), "$-2\r\n": ErrResponseFormat.FullName(), "/\r\n": ErrUnknownHeaderType.FullName(),
		"$9223372036854775807\r\n": ErrResponseTooLarge.FullName(), "$\n": ErrNoFinalRN.FullName(),
	} {
		_, err := NewDecoder(bufio.NewReader(strings.NewReader(text)), Limits{}).DecodeTo(io.Discard)
		require.Error(t, err, "%q", text)
		assert.Equal(t, typ, AsErrorx(err).Type().FullName(), "%q", text)
	}
}

type failingWriter struct{ err error }

func (f failingWriter) Write([]byte) (int, error) { return 0, f.err }

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
