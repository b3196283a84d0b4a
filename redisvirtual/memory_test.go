package redisvirtual

import (
	"net"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redisvirtual/internal/proto"
)

// An idle connection that has answered a request under a deadline takes at most 1 KiB, and no goroutine.
func TestIdle(t *testing.T) {
	const many = 10_000
	shared := connect(t, server.Addr(), defaults)
	conns := make([]net.Conn, 0, many)
	defer func() {
		for _, c := range conns {
			_ = c.Close()
		}
	}()
	ping, pong := []byte(words("PING")), make([]byte, len("+PONG\r\n"))
	add := func(n int) {
		for range n {
			c := Conn(shared)
			conns = append(conns, c)
			require.NoError(t, c.SetDeadline(time.Now().Add(time.Hour)))
			_, err := c.Write(ping)
			require.NoError(t, err)
			n, err := c.Read(pong)
			require.NoError(t, err)
			require.Equal(t, "+PONG\r\n", string(pong[:n]))
		}
	}
	add(100) // allocates the memory that all connections share
	before, goroutines := heap(), runtime.NumGoroutine()
	add(many - len(conns))
	each := int(heap()-before) / (many - 100)
	t.Logf("%d bytes each", each)
	require.LessOrEqual(t, each, 1<<10)
	require.Less(t, runtime.NumGoroutine()-goroutines, 10)
}

// heap returns the number of reachable bytes on the heap.
func heap() int64 {
	runtime.GC()
	runtime.GC() // the second collection empties pools
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// While 1 MiB is queued behind a blocking request, Write waits until that request is answered.
func TestInputBounded(t *testing.T) {
	shared := connect(t, server.Addr(), defaults)
	v, other := over(t, shared), over(t, shared)
	written := writeBehind(t, v, words("ECHO", "2"))
	require.Empty(t, written)
	other.say(words("RPUSH", "bounded", "x"))
	other.hear(":1\r\n")
	v.hear("*2\r\n$7\r\nbounded\r\n$1\r\nx\r\n" + proto.OK + "$1\r\n2\r\n")
	require.NoError(t, <-written)
}

// A waiting Write ends when the connection ends, and at its deadline, whether that was set before the Write or
// during it.
func TestInputBoundedUntil(t *testing.T) {
	for name, end := range map[string]func(v *client) (err error){
		"deadline": func(v *client) error { return v.SetWriteDeadline(time.Now().Add(10 * time.Millisecond)) },
		"passed":   func(v *client) error { return v.SetWriteDeadline(time.Unix(1, 0)) },
		"closed":   func(v *client) error { return v.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			v := over(t, connect(t, server.Addr(), defaults))
			require.NoError(t, v.SetWriteDeadline(time.Now().Add(time.Hour)))
			written := writeBehind(t, v, words("PING"))
			require.NoError(t, end(v))
			err := <-written
			if name == "closed" {
				require.ErrorIs(t, err, net.ErrClosed)
				return
			}
			require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		})
	}
}

// writeBehind writes a blocking request, then as many bytes as may wait behind it, and then another request.
// It returns when the last Write waits.
func writeBehind(t *testing.T, v *client, request string) (written chan error) {
	c := v.Conn.(*conn)
	v.say(words("BLPOP", "bounded", "0"))
	require.Eventually(t, func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.serving
	}, 20*time.Second, time.Millisecond)
	v.say(words("SET", "bounded:large", strings.Repeat("x", behindMost)))
	written = make(chan error, 1)
	go func() {
		_, err := c.Write([]byte(request))
		written <- err
	}()
	require.Eventually(t, func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.taken != nil
	}, 20*time.Second, time.Millisecond)
	return written
}

func TestTransactionBounded(t *testing.T) {
	v := virtual(t)
	v.say(words("MULTI"))
	v.hear(proto.OK)
	v.Conn.(*conn).tx.buf = make([]byte, proto.Most)
	v.say(words("PING") + words("EXEC"))
	v.hear("-ERR The transaction is larger than a server accepts\r\n")
	require.Contains(t, v.frame(), "-EXECABORT ")
}
