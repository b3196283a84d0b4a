package redisconn_test

import (
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/conntest"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest/chaos"
)

// lingering is a listener whose connections are closed only when the client has received the notice.
type lingering struct{ net.Listener }

func (l lingering) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err == nil {
		err = c.(*net.TCPConn).SetLinger(int(patience / time.Second))
	}
	return c, err
}

// If the new server closes its socket while the old server still answers, the connection stays on the old socket.
// So requests that wait in this time are answered. The new server may send pushes before it closes the socket.
func TestNewSocketDies(t *testing.T) {
	for name, last := range map[string]string{"silently": "", "after a push": ">2\r\n+invalidate\r\n_\r\n"} {
		t.Run(name, func(t *testing.T) {
			held := make(chan struct{})
			release := sync.OnceFunc(func() { close(held) })
			defer release()
			var servers [2]*chaos.ScriptedServer
			for i := range servers {
				l, err := net.Listen("tcp", "127.0.0.1:0")
				require.NoError(t, err)
				servers[i] = chaos.NewScripted(t, chaos.ScriptedOpts{Listener: lingering{l}, Handler: func(c *chaos.ScriptedConn, r chaos.ScriptedRequest) error {
					reply := "+OK\r\n"
					switch r.Cmd {
					case "ECHO":
						<-held
					case "GET":
						reply = chaos.ScriptedBulk(fmt.Sprint(i))
					}
					_, err := io.WriteString(c, reply)
					return err
				}})
			}
			conn := connect(t, servers[0].Addr(), redisconn.Opts{Protocol: 3, IOTimeout: patience, Heartbeat: -1, Logger: redisconn.NoopLogger{}})
			echo := sendTo(conn, "ECHO", "a")
			servers[0].Broadcast([]byte(moving(servers[1].Addr())))
			eventually(t, "the right to write is reserved", func() bool {
				before := conn.Stats().WrittenRequests
				conn.Send(redis.Req("GET", "k"), nil, 0)
				time.Sleep(10 * time.Millisecond)
				return conn.Stats().WrittenRequests == before
			})
			get := sendTo(conn, "GET", "k")
			servers[1].Broadcast([]byte(last))
			servers[1].Close()
			release()
			require.Equal(t, "OK", echo.Wait(t))
			require.Equal(t, []byte("0"), get.Wait(t))
			require.Zero(t, conn.Stats().Disconnects)
		})
	}
}

// Several announcements arrive in one write, together with the answer that ends the hand-over under way. The connection
// moves to the last address.
func TestNewestOfManyMovesWins(t *testing.T) {
	times := 10
	if os.Getenv("REDISPIPE_LONG") != "" {
		times = 5000
	}
	var servers [4]*chaos.ScriptedServer
	held := make(chan chan struct{}, 1)
	for i := range servers {
		servers[i] = chaos.NewScripted(t, chaos.ScriptedOpts{Handler: func(c *chaos.ScriptedConn, r chaos.ScriptedRequest) error {
			reply := "+OK\r\n"
			if r.Cmd == "ECHO" {
				answer := make(chan struct{})
				held <- answer
				<-answer
				reply += moving(servers[2].Addr()) + moving(servers[3].Addr())
			}
			_, err := io.WriteString(c, reply)
			return err
		}})
	}
	for i := range times {
		conn := connect(t, servers[0].Addr(), redisconn.Opts{Protocol: 3, IOTimeout: patience, Heartbeat: -1, Logger: redisconn.NoopLogger{}})
		echo := make(chan any, 1)
		if i%2 == 0 { // a goroutine of the connection reads the answer
			conn.Send(redis.Req("ECHO", "a"), redis.FuncFuture(func(res any, _ uint64) { echo <- res }), 0)
		} else { // the caller reads it
			go func() { echo <- redis.Sync{S: conn}.Do("ECHO", "a") }()
		}
		answer := <-held
		before := servers[1].Accepted()
		servers[0].Broadcast([]byte(moving(servers[1].Addr())))
		eventually(t, "dialed", func() bool { return servers[1].Accepted() > before })
		close(answer)
		require.Equal(t, "OK", conntest.Await(t, "the answer", echo))
		eventually(t, "moved to the last address", func() bool { return conn.RemoteAddr() == servers[3].Addr() })
		conn.Close()
	}
}
