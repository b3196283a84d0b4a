package conntest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest/memserver"
)

// The goroutines of a connection count until they have ended. Those of the server do not count.
func TestGoroutinesLeft(t *testing.T) {
	addr := memserver.New(t).Addr()
	require.Empty(t, oneLeft())
	conn := Connect(t, addr, redisconn.Opts{})
	require.Contains(t, oneLeft(), "redispipe/redisconn")
	conn.Close()
	require.Empty(t, GoroutinesLeft())
}
