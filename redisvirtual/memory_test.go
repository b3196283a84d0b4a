package redisvirtual

import (
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A connection that has answered a request under a deadline, and waits for the next, takes at most 1 KiB,
// and no goroutine.
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
	add(100) // what all share
	before, goroutines := heap(), runtime.NumGoroutine()
	add(many - len(conns))
	each := int(heap()-before) / (many - 100)
	t.Logf("%d bytes each", each)
	require.LessOrEqual(t, each, 1<<10)
	require.Less(t, runtime.NumGoroutine()-goroutines, 10)
}

// heap returns how many bytes are reachable.
func heap() int64 {
	runtime.GC()
	runtime.GC() // also of pools
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
