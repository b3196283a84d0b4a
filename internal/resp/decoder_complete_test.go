package resp_test

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/resp"
	"github.com/joomcode/redispipe/redis"
)

var errWouldWait = errors.New("would wait")

// buffered returns a decoder that has text in its buffer. Reading more than that fails with
// errWouldWait.
func buffered(t testing.TB, text string) *resp.Decoder {
	t.Helper()
	r := bufio.NewReaderSize(io.MultiReader(strings.NewReader(text), waitingReader{}), 64<<10)
	d := resp.NewDecoder(r, resp.Limits{})
	if text != "" {
		require.NoError(t, d.AwaitMore())
		require.Equal(t, len(text), d.Buffered())
	}
	return d
}

type waitingReader struct{}

func (waitingReader) Read([]byte) (int, error) { return 0, errWouldWait }

func TestDecoderComplete(t *testing.T) {
	for _, c := range validReplies {
		assert.True(t, buffered(t, c.text).Complete(), "%q", c.text)
		assert.True(t, buffered(t, c.text+"$5").Complete(), "%q", c.text)
		for n := range len(c.text) {
			assert.False(t, buffered(t, c.text[:n]).Complete(), "%q", c.text[:n])
		}
	}
	assert.Equal(t, errWouldWait, buffered(t, "").AwaitMore())
}

// If a reply does not fit into the buffer, the decoder can't wait for the whole reply.
func TestDecoderFull(t *testing.T) {
	d := resp.NewDecoder(bufio.NewReaderSize(strings.NewReader("$100\r\n"+strings.Repeat("x", 100)+"\r\n"), 64), resp.Limits{})
	for !d.Full() {
		require.False(t, d.Complete())
		require.NoError(t, d.AwaitMore())
	}
	require.Equal(t, 64, d.Buffered())
	require.False(t, d.Complete())
	res, err := d.Decode()
	require.NoError(t, err)
	require.Len(t, res, 100)
}

// checkComplete checks that a complete reply is decoded without waiting.
func checkComplete(t testing.TB, text string) {
	d := buffered(t, text)
	if !d.Complete() {
		return
	}
	_, err := d.Decode()
	if typed := redis.AsErrorx(err); typed != nil {
		require.NotEqual(t, errWouldWait, typed.Cause(), "%.40q", text)
	}
}

func TestDecoderCompleteHostile(t *testing.T) {
	for _, c := range hostileReplies {
		checkComplete(t, c.text[:min(len(c.text), 60<<10)])
	}
	for _, text := range []string{
		"*1\r\n|1\r\n+a\r\n+b\r\n", "|1\r\n+a\r\n+b\r\n", "%1\r\n|0\r\n+a\r\n", "*2\r\n|1\r\n|0\r\n+a\r\n+b\r\n:1\r\n",
		"%4611686018427387904\r\n", "$9223372036854775807\r\n", ">5\r\n:1\r\n", ">x\r\n",
	} {
		checkComplete(t, text)
	}
}
