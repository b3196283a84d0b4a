//go:build unix

package sock

import (
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// tcpPair returns both ends of a connection.
func tcpPair(t *testing.T) (here, there net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	here, err = net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { _ = here.Close() })
	there, err = l.Accept()
	require.NoError(t, err)
	t.Cleanup(func() { _ = there.Close() })
	return here, there
}

// Exchange returns what has arrived, even if it arrived while Written was running.
func TestExchange(t *testing.T) {
	for _, during := range []bool{false, true} {
		here, there := tcpPair(t)
		raw := NewRaw(here)
		answer := func() {
			_, _ = io.ReadFull(there, make([]byte, 3))
			_, _ = io.WriteString(there, "answer")
		}
		written := 0
		raw.Written = func() {
			written++
			if during {
				answer()
			} else {
				time.AfterFunc(10*time.Millisecond, answer)
			}
		}
		in := make([]byte, 4)
		sent, n, err := raw.Exchange([]byte("ask"), in)
		require.NoError(t, err)
		require.Equal(t, []int{3, 1}, []int{sent, written})
		require.Error(t, raw.Check(), "more has come")
		got, err := io.ReadAll(io.LimitReader(here, int64(6-n)))
		require.NoError(t, err)
		require.Equal(t, "answer", string(in[:n])+string(got))
	}
}

// If the server closes the connection while Written runs, Exchange returns the end of the
// connection.
func TestExchangeOfClosed(t *testing.T) {
	here, there := tcpPair(t)
	raw := NewRaw(here)
	raw.Written = func() {
		_, _ = io.ReadFull(there, make([]byte, 3))
		_ = there.Close()
	}
	sent, n, err := raw.Exchange([]byte("ask"), make([]byte, 1))
	require.Equal(t, io.EOF, err)
	require.Equal(t, []int{3, 0}, []int{sent, n})
}

// Unread reports bytes and the end of the connection until they are read.
func TestUnread(t *testing.T) {
	here, there := tcpPair(t)
	raw := NewRaw(here)
	require.False(t, raw.Unread())
	_, err := io.WriteString(there, "ab")
	require.NoError(t, err)
	require.Eventually(t, raw.Unread, time.Minute, time.Millisecond)
	_, err = here.Read(make([]byte, 1))
	require.NoError(t, err)
	require.True(t, raw.Unread())
	_, err = here.Read(make([]byte, 1))
	require.NoError(t, err)
	require.False(t, raw.Unread())
	_ = there.Close()
	require.Eventually(t, raw.Unread, time.Minute, time.Millisecond)
	_ = here.Close()
	require.False(t, raw.Unread())
}
