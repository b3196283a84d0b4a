package resp_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/resp"
	"github.com/joomcode/redispipe/redis"
)

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
		d := resp.NewDecoder(bufio.NewReader(strings.NewReader(c.text+"next")), resp.Limits{})
		res, err := d.DecodeTo(&out)
		require.NoError(t, err)
		assert.Equal(t, c.want, res)
		assert.Equal(t, c.written, out.String())
		assert.Equal(t, len("next"), d.Buffered())
	}
	res, err := resp.NewDecoder(bufio.NewReader(strings.NewReader("-ERR no\r\n")), resp.Limits{}).DecodeTo(io.Discard)
	require.NoError(t, err)
	assertType(t, errs.ErrResult, res)
}

func TestDecodeToFails(t *testing.T) {
	text := "$100\r\n" + strings.Repeat("x", 100) + "\r\n"
	for n := range len(text) {
		_, err := resp.NewDecoder(bufio.NewReader(strings.NewReader(text[:n])), resp.Limits{}).DecodeTo(io.Discard)
		assertType(t, errs.ErrIO, err, n)
	}
	failure := errors.New("failure")
	_, err := resp.NewDecoder(bufio.NewReader(strings.NewReader(text)), resp.Limits{}).DecodeTo(failingWriter{failure})
	assertType(t, errs.ErrIO, err)
	assert.Equal(t, failure, redis.AsErrorx(err).Cause())
	for text, typ := range map[string]string{
		"$3\r\nabc\n\r": errs.ErrNoFinalRN.FullName(), "$-2\r\n": errs.ErrResponseFormat.FullName(), "/\r\n": errs.ErrUnknownHeaderType.FullName(),
		"$9223372036854775807\r\n": errs.ErrResponseTooLarge.FullName(), "$\n": errs.ErrNoFinalRN.FullName(),
	} {
		_, err := resp.NewDecoder(bufio.NewReader(strings.NewReader(text)), resp.Limits{}).DecodeTo(io.Discard)
		require.Error(t, err, "%q", text)
		assert.Equal(t, typ, redis.AsErrorx(err).Type().FullName(), "%q", text)
	}
}

type failingWriter struct{ err error }

func (f failingWriter) Write([]byte) (int, error) { return 0, f.err }
