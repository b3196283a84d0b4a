package sock

import (
	"io"
	"net"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
)

// The buffer grows while replies fill it, though not with one of them, and is small
// again when the connection was idle.
func TestReadBufferFits(t *testing.T) {
	here, there := net.Pipe()
	defer there.Close()
	defer here.Close()
	s := New(here, redis.Limits{})
	answers := func(n, size int) {
		reply := "$" + strconv.Itoa(size) + "\r\n" + strings.Repeat("v", size) + "\r\n"
		go func() { _, _ = io.WriteString(there, strings.Repeat(reply, n)) }()
		for range n {
			s.FitReadBuffer()
			res, err := s.Dec.Decode()
			require.NoError(t, err)
			require.Len(t, res, size)
		}
	}
	answer := func(size int) { answers(1, size) }
	answer(readBufferLeast)
	answer(10)
	require.Equal(t, readBufferLeast, s.size, "after one")
	answers(20, 10)
	require.Equal(t, readBufferLeast, s.size, "small replies")
	s.NoteIdle()
	answer(10)
	require.Equal(t, readBufferLeast, s.size, "idle")
	answers(30, 16<<10)
	answer(10) // the buffer has to be empty
	require.Equal(t, readBufferMost, s.size)
	require.False(t, s.idle.Load())
	answer(10)
	require.Equal(t, readBufferMost, s.size, "it stays, until it is idle")
	s.NoteIdle()
	answer(10)
	require.Equal(t, readBufferLeast, s.size)
}
