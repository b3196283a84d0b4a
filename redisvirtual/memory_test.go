package redisvirtual

import (
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisvirtual/internal/proto"
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

// What waits behind a request that blocks is bounded, as is a transaction.
func TestInputBounded(t *testing.T) {
	shared := connect(t, server.Addr(), defaults)
	c := Conn(shared).(*conn)
	defer func() { _ = c.Close() }()
	_, err := c.Write([]byte(words("BLPOP", "bounded", "0")))
	require.NoError(t, err)
	require.Eventually(t, func() bool { return used(shared) == 1 }, 20*time.Second, time.Millisecond)
	c.mu.Lock()
	c.in = make([]byte, proto.Most)
	c.mu.Unlock()
	_, err = c.Write([]byte(words("PING")))
	require.Equal(t, redis.OutcomeUnknown, redis.OutcomeOf(err), "%v", err)
	require.Eventually(t, func() bool { return used(shared) == 0 }, 20*time.Second, time.Millisecond)
	_, err = c.Read(make([]byte, 1))
	require.ErrorIs(t, err, net.ErrClosed)
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
