package redisconn_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/conntest"
	"github.com/joomcode/redispipe/internal/lab/virtualtime"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
)

// Each server announces another one in the handshake. The connection follows them, but more and more slowly.
func TestAnnouncementsWithoutEnd(t *testing.T) {
	virtualtime.Run(t, func(t *testing.T) {
		var servers atomic.Int64
		p := &pipes{Answer: func(args []string) string {
			switch args[0] {
			case "HELLO":
				return hello3 + moving(fmt.Sprintf("server%d:1", servers.Add(1)))
			case "PING":
				return conntest.Pong(args)
			}
			return "+OK\r\n"
		}}
		conn, log := conntest.ConnectPipes(t, p, redisconn.Opts{Protocol: 3})
		time.Sleep(5 * time.Minute)
		require.Greater(t, len(p.Dialed()), 10)
		require.Less(t, len(p.Dialed()), 60)
		require.Equal(t, "OK", redis.Sync{S: conn}.Do("SET", "k", "v"))
		require.Zero(t, log.Count("Disconnected"))
	})
}
