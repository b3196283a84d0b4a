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

// An exchange ends when there is something to read, whether or not it arrived while Written ran,
// and no matter what Written returned.
func TestExchange(t *testing.T) {
	for _, during := range []bool{false, true} {
		for _, reports := range []bool{false, true} {
			here, there := tcpPair(t)
			raw := NewRaw(here)
			answer := func() {
				_, _ = io.ReadFull(there, make([]byte, 3))
				_, _ = io.WriteString(there, "answer")
			}
			written := 0
			raw.Written = func() bool {
				written++
				if during {
					answer()
				} else {
					time.AfterFunc(10*time.Millisecond, answer)
				}
				return reports
			}
			n, err := raw.Exchange([]byte("ask"))
			require.NoError(t, err)
			require.Equal(t, []int{3, 1}, []int{n, written})
			require.Error(t, raw.Check(), "something has come")
			got := make([]byte, 6)
			_, err = io.ReadFull(here, got)
			require.NoError(t, err)
			require.Equal(t, "answer", string(got))
		}
	}
}

// Exchange also returns if the server closes the connection while Written runs. The next read
// returns the error.
func TestExchangeOfClosed(t *testing.T) {
	here, there := tcpPair(t)
	raw := NewRaw(here)
	raw.Written = func() bool {
		_, _ = io.ReadFull(there, make([]byte, 3))
		_ = there.Close()
		return true
	}
	n, err := raw.Exchange([]byte("ask"))
	require.NoError(t, err)
	require.Equal(t, 3, n)
	_, err = here.Read(make([]byte, 1))
	require.Equal(t, io.EOF, err)
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
