package redisconn_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/backend"
	"github.com/joomcode/redispipe/internal/conntest"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest/chaos"
)

// A server may announce that it moves in the handshake, between two answers or behind the last one. The connection
// moves as soon as the socket is in use, also when the socket itself comes from a hand-over.
func TestMovingInHandshake(t *testing.T) {
	for _, step := range []string{"HELLO", "PING", "CLIENT MAINT_NOTIFICATIONS"} {
		t.Run(step, func(t *testing.T) {
			var servers [3]*chaos.ScriptedServer
			for i := len(servers) - 1; i >= 0; i-- {
				pushes := ""
				if i+1 < len(servers) {
					pushes = moving("127.0.0.1:1") + moving(servers[i+1].Addr())
				}
				servers[i] = peer(t, func(r chaos.ScriptedRequest) string {
					name, reply := r.Cmd, "+OK\r\n"
					switch r.Cmd {
					case "CLIENT":
						name += " " + r.Args[0]
					case "HELLO":
						reply = hello3
					case "PING":
						reply = pong(append([]string{r.Cmd}, r.Args...))
					}
					if name == step {
						reply += pushes
					}
					return reply
				})
			}
			conn := connect(t, servers[0].Addr(), redisconn.Opts{Protocol: 3, IOTimeout: patience, Heartbeat: -1, Logger: redisconn.NoopLogger{}})
			eventually(t, "moved to the last server", func() bool { return conn.RemoteAddr() == servers[2].Addr() })
			require.Zero(t, conn.Stats().Disconnects)
		})
	}
}

// The server announces another address after the last answer. The connection moves there, even if a user's future
// blocks the reader until the connection has left that server.
func TestMovingAfterTheLastAnswer(t *testing.T) {
	var servers [3]*chaos.ScriptedServer
	held, reached, release := make(chan struct{}), make(chan struct{}), make(chan struct{})
	for i := range servers {
		servers[i] = peer(t, func(r chaos.ScriptedRequest) string {
			switch {
			case r.Cmd == "HELLO" && i == 1:
				<-held
				return hello3
			case r.Cmd == "HELLO":
				return hello3
			case r.Cmd == "GET":
				return moving(servers[1].Addr()) + "+OK\r\n"
			}
			return ""
		})
	}
	conn := connect(t, servers[0].Addr(), redisconn.Opts{Protocol: 3, IOTimeout: patience, Heartbeat: -1, Logger: redisconn.NoopLogger{}})
	conn.Send(redis.Req("GET", "k"), redis.FuncFuture(func(any, uint64) {
		close(reached)
		<-release
	}), 0)
	<-reached
	servers[0].Broadcast([]byte(moving(servers[2].Addr())))
	close(held)
	eventually(t, "moved to the first address", func() bool { return conn.RemoteAddr() == servers[1].Addr() })
	close(release)
	eventually(t, "moved to the second address", func() bool { return conn.RemoteAddr() == servers[2].Addr() })
	require.Zero(t, conn.Stats().Disconnects)
}

// The earlier server may learn nothing of changes that the new one makes. So a hand-over ends the connection that tracks
// keys, and the next one leads to the new server.
func TestTrackersFollowAHandOver(t *testing.T) {
	var servers [2]*chaos.ScriptedServer
	for i := range servers {
		servers[i] = chaos.NewScripted(t, chaos.ScriptedOpts{})
	}
	conn := connect(t, servers[0].Addr(), redisconn.Opts{Protocol: 3, IOTimeout: patience, Heartbeat: -1, Logger: redisconn.NoopLogger{}})
	ended := make(chan struct{}, 10)
	track := func() *redisconn.Connection {
		made, err := backend.Of(conn).OpenTracking(t.Context(), func(*redis.Push) {}, func() { ended <- struct{}{} })
		require.NoError(t, err)
		return made.(*redisconn.Connection)
	}
	before := track()
	require.Equal(t, servers[0].Addr(), before.RemoteAddr())
	servers[0].Broadcast([]byte(moving(servers[1].Addr())))
	conntest.Await(t, "the tracker has ended", ended)
	conntest.Await(t, "the tracker is closed", before.Ctx().Done())
	require.Equal(t, servers[1].Addr(), track().RemoteAddr())
}
