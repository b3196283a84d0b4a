package redisconn_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/testbed"
)

// A connection has three goroutines and, while idle, takes little memory. Close ends the
// goroutines.
func TestIdleConnectionsAreSmall(t *testing.T) {
	s := testbed.NewServer(t)
	idleConnection(t, s.Addr()) // makes the allocations that happen only once
	require.LessOrEqual(t, idleConnection(t, s.Addr()), 64<<10)
}

// idleConnection measures how many bytes of memory an idle connection takes.
func idleConnection(t *testing.T, addr string) (memory int) {
	t.Helper()
	const n = 100
	goroutines, before := resources()
	var conns []*redisconn.Connection
	for range n {
		conns = append(conns, connect(t, addr, redisconn.Opts{Logger: redisconn.NoopLogger{}}))
	}
	for _, conn := range conns {
		require.NoError(t, conn.Ping())
	}
	moreGoroutines, after := resources()
	require.LessOrEqual(t, moreGoroutines-goroutines, 4*n)
	memory = (after - before) / n
	t.Logf("%d bytes per connection", memory)
	for _, conn := range conns {
		conn.Close()
	}
	eventually(t, "goroutines end", func() bool {
		now, _ := resources()
		return now <= goroutines
	})
	return memory
}
