package redisconn_test

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest/chaos"
)

// Only a connection that wants a master asks the server to redirect (CLIENT CAPA), on each socket.
// After a server has refused that, the connection does not ask again, and logs nothing.
func TestRedirectIsAskedFor(t *testing.T) {
	for _, knows := range []bool{true, false} {
		server := chaos.NewScripted(t, chaos.ScriptedOpts{Raw: true, Handler: func(c *chaos.ScriptedConn, r chaos.ScriptedRequest) error {
			reply := "+OK\r\n"
			switch {
			case r.Cmd == "PING" && len(r.Args) > 0:
				reply = chaos.ScriptedBulk(r.Args[0])
			case r.Cmd == "RESET":
				reply = "+RESET\r\n"
			case r.Cmd == "ROLE":
				reply = "*3\r\n" + chaos.ScriptedBulk("master") + ":0\r\n*0\r\n"
			case r.Cmd == "CLIENT" && r.Args[0] == "CAPA" && !knows:
				reply = "-ERR unknown subcommand 'CAPA'. Try CLIENT HELP.\r\n"
			}
			_, err := io.WriteString(c, reply)
			return err
		}})
		asked := func(role redisconn.Role) (conns map[int]bool) {
			log := &recorder{}
			conn := connect(t, server.Addr(), redisconn.Opts{Role: role, Logger: log})
			defer conn.Close()
			for range 2 {
				require.NoError(t, redis.WithSession(background, conn, "", func(s *redis.Session) error { return redis.Err(s.Do("GET", "k")) }))
			}
			require.Zero(t, log.Count("PeerLimited"))
			conns = map[int]bool{}
			for _, r := range server.Requests() {
				if r.Cmd == "CLIENT" && r.Args[0] == "CAPA" {
					require.Equal(t, []string{"CAPA", "redirect"}, r.Args)
					require.False(t, !knows && conns[r.Conn], "it is asked again")
					conns[r.Conn] = true
				}
			}
			return conns
		}
		require.Empty(t, asked(redisconn.RoleAny))
		if knows {
			require.Greater(t, len(asked(redisconn.RoleMaster)), 1, "the shared socket, and those of the sessions")
		} else {
			require.Len(t, asked(redisconn.RoleMaster), 1)
		}
	}
}

// The error of a redirect that a single connection gets says what to use instead, and that a retry
// can't help.
func TestRedirectOfOneServer(t *testing.T) {
	server := chaos.NewScripted(t, chaos.ScriptedOpts{Handler: chaos.ScriptedReplies("-REDIRECT 10.0.0.1:6380\r\n")})
	conn := connect(t, server.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}})
	err := redis.Err(redis.SyncCtx{S: redis.WithRetry(conn, redis.RetryOpts{})}.Do(background, "GET", "k"))
	requireHopeless(t, err, "REDIRECT 10.0.0.1:6380")
	require.ErrorIs(t, err, redis.ErrRefused)
	require.ErrorContains(t, err, "redis-replicated://")
	to, _ := redis.AsErrorx(err).Property(redis.EKMovedTo)
	require.Equal(t, "10.0.0.1:6380", to)
}
