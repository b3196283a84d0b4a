package redisconn_test

import (
	"context"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/sock"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest/chaos"
)

// If the new server closes its socket while the old server still answers, the connection stays on the old socket.
// So requests that wait in this time are answered.
func TestNewSocketDies(t *testing.T) {
	held := make(chan struct{})
	release := sync.OnceFunc(func() { close(held) })
	defer release()
	var servers [2]*chaos.ScriptedServer
	for i := range servers {
		servers[i] = peer(t, func(r chaos.ScriptedRequest) string {
			switch r.Cmd {
			case "HELLO":
				return hello3
			case "ECHO":
				<-held
			case "GET":
				return chaos.ScriptedBulk(fmt.Sprint(i))
			}
			return ""
		})
	}
	dialed := make(chan net.Conn, 100)
	conn := connect(t, servers[0].Addr(), redisconn.Opts{
		Protocol: 3, IOTimeout: patience, Heartbeat: -1, Logger: redisconn.NoopLogger{},
		Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
			socket, err := new(net.Dialer).DialContext(ctx, network, addr)
			if err == nil {
				dialed <- socket
			}
			return socket, err
		},
	})
	<-dialed
	echo := sendTo(conn, "ECHO", "a")
	servers[0].Broadcast([]byte(moving(servers[1].Addr())))
	raw := sock.NewRaw(<-dialed)
	eventually(t, "the right to write is reserved", func() bool {
		before := conn.Stats().WrittenRequests
		conn.Send(redis.Req("GET", "k"), nil, 0)
		time.Sleep(10 * time.Millisecond)
		return conn.Stats().WrittenRequests == before
	})
	get := sendTo(conn, "GET", "k")
	servers[1].Close()
	eventually(t, "the socket is closed", func() bool {
		err := raw.Check()
		return err != nil && err != sock.ErrUnsolicited
	})
	release()
	require.Equal(t, "OK", echo.wait(t))
	require.Equal(t, []byte("0"), get.wait(t))
	require.Zero(t, conn.Stats().Disconnects)
}
