package virtualtime

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest/chaos"
)

// Run makes the same calls inside and outside of bubbles. Each call waits for a channel from a
// pool.
func TestRun(t *testing.T) {
	call := func(t *testing.T) {
		l := newPipes("10.0.0.1:6379")
		late := chaos.ScriptedReplies("+OK\r\n")
		chaos.NewScripted(t, chaos.ScriptedOpts{Listener: l, Handler: func(c *chaos.ScriptedConn, r chaos.ScriptedRequest) error {
			time.Sleep(time.Millisecond)
			return late(c, r)
		}})
		conn, err := redisconn.Connect(t.Context(), l.addr, redisconn.Opts{Dialer: l.dial, Logger: redisconn.NoopLogger{}})
		require.NoError(t, err)
		defer conn.Close()
		require.Equal(t, "OK", redis.Sync{S: conn}.Do("SET", "k", "v"))
	}
	for range 3 {
		call(t)
		Run(t, call)
	}
}
