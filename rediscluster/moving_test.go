package rediscluster

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest/chaos"
)

// While a node announces that it moves to an address where nothing answers yet, its present connection works, so the
// cluster continues to use it.
func TestMovingToDeadAddress(t *testing.T) {
	n := newScriptedNode(t, chaos.ScriptedReplies("+OK\r\n"))
	c, err := NewCluster(t.Context(), []string{n.Addr()}, Opts{Logger: NoopLogger{}, HostOpts: redisconn.Opts{Protocol: 3, Logger: redisconn.NoopLogger{}}})
	require.NoError(t, err)
	defer c.Close()
	db := redis.Sync{S: c}
	require.Equal(t, "OK", db.Do("SET", "k", "v"))
	const connections = 3 // two for requests, and one that has asked for the slots
	require.Eventually(t, func() bool { return n.Accepted() == connections }, time.Minute, time.Millisecond)
	n.Broadcast([]byte(fmt.Sprintf(">4\r\n$6\r\nMOVING\r\n:1\r\n:600\r\n%s", chaos.ScriptedBulk("127.0.0.1:1"))))
	for range 2000 {
		require.Equal(t, "OK", db.Do("SET", "k", "v"))
	}
	require.Equal(t, connections, n.Accepted())
}
