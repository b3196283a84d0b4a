package redisconn_test

import (
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/backend"
	"github.com/joomcode/redispipe/internal/lab/virtualtime"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest/chaos"
	"github.com/joomcode/redispipe/testbed"
)

// oneDedicated makes all sessions use the same connection, one after the other.
var oneDedicated = redisconn.Opts{Logger: redisconn.NoopLogger{}, DedicatedConns: 1, DB: 3}

func TestSession(t *testing.T) {
	s := testbed.NewServer(t)
	conn := connect(t, s.Addr(), quiet)
	client := redis.Sync{S: conn}
	require.NoError(t, redis.WithSession(t.Context(), conn, "", func(session *redis.Session) error {
		require.Equal(t, "OK", session.Do("WATCH", "a"))
		require.Equal(t, "OK", client.Do("SET", "a", 1))
		_, err := session.SendTransaction(requests(redis.Req("INCR", "a")))
		requireType(t, err, redis.ErrExecEmpty)
		results, err := session.SendTransaction(requests(redis.Req("INCR", "a"), redis.Req("GET", "a")))
		require.NoError(t, err)
		require.Equal(t, []any{int64(2), []byte("2")}, results)
		results, err = session.SendTransaction(requests(redis.Req("GET", "a"), redis.Req("LPUSH", "a", 7)))
		require.NoError(t, err)
		named, _ := redis.AsErrorx(results[1]).Property(redis.EKRequest)
		require.Equal(t, redis.Req("LPUSH", "a", 7), named, "an error in the answer to EXEC says of which request")
		_, err = session.SendTransaction(requests(redis.Req("NOSUCH")))
		requireType(t, err, redis.ErrExecAbort)

		require.Equal(t, "OK", session.Do("SELECT", 1))
		require.Equal(t, []any{"OK", nil, []byte("1")}, session.SendMany(requests(
			redis.Req("SET", "b", 1), redis.Req("GET", "none"), redis.Req("GET", "b"))))
		var n int64
		require.NoError(t, session.DoInto(&n, "GET", "b"))
		require.Equal(t, int64(1), n)
		require.Nil(t, session.Do("BLPOP", "list", 0.01))

		requireNotSent(t, session.Do("SUBSCRIBE", "c"), redis.ErrCommandForbidden)
		requireNotSent(t, session.Do("BLPOP", "list", "soon"), redis.ErrArgumentType)
		bad := session.SendMany(requests(redis.Req("PING"), redis.Req("BLPOP", "list", 1)))
		requireNotSent(t, bad[0], redis.ErrBatchFormat)
		requireNotSent(t, bad[1], redis.ErrCommandForbidden)
		require.Equal(t, "PONG", session.Do("PING"), "none of it harms the session")
		return nil
	}))
}

// A session's state does not reach the next session.
func TestSessionLeavesNothing(t *testing.T) {
	s := testbed.NewServer(t)
	require.Equal(t, "OK", redis.Sync{S: connect(t, s.Addr(), quiet)}.Do("ACL", "SETUSER", "other", "on", ">pw", "~*", "+@all"))
	conn := connect(t, s.Addr(), oneDedicated)
	client := redis.Sync{S: conn}
	for name, leave := range map[string]redis.Request{
		"watch":     redis.Req("WATCH", "k"),
		"multi":     redis.Req("MULTI"),
		"db":        redis.Req("SELECT", 5),
		"user":      redis.Req("AUTH", "other", "pw"),
		"name":      redis.Req("CLIENT", "SETNAME", "somebody"),
		"no-evict":  redis.Req("client no-evict", "on"),
		"read-only": redis.Req("READONLY"),
	} {
		t.Run(name, func(t *testing.T) {
			if name == "no-evict" {
				testbed.Needs(t, testbed.Version(7, 0))
			}
			require.NoError(t, redis.WithSession(t.Context(), conn, "", func(session *redis.Session) error {
				res := session.Do(leave.Cmd, leave.Args...)
				if name != "read-only" { // READONLY is refused outside of a cluster
					require.NoError(t, redis.AsError(res))
				}
				return nil
			}))
			require.NoError(t, redis.WithSession(t.Context(), conn, "", func(session *redis.Session) error {
				require.Equal(t, "OK", client.Do("SET", "k", "v"))
				results, err := session.SendTransaction(requests(redis.Req("GET", "k")))
				require.NoError(t, err)
				require.Equal(t, []any{[]byte("v")}, results)
				var info string
				require.NoError(t, session.DoInto(&info, "CLIENT", "INFO"))
				require.Contains(t, info, " name= ")
				require.Contains(t, info, " db=3 ")
				require.Contains(t, info, " flags=N ")
				require.Contains(t, info, " user=default ")
				return nil
			}))
		})
	}
}

// The connection of a session that changed no state is used again.
func TestSessionReuse(t *testing.T) {
	s := testbed.NewServer(t)
	conn := connect(t, s.Addr(), oneDedicated)
	for range 10 {
		require.NoError(t, redis.WithSession(t.Context(), conn, "", func(session *redis.Session) error {
			return redis.AsError(session.Do("SET", "a", 1))
		}))
	}
	require.Equal(t, 2, clients(t, redis.Sync{S: conn}))
}

// Pushes after each reply, even during the handshake, affect neither a session nor the next user of
// its connection.
func TestSessionPushes(t *testing.T) {
	push := ">2\r\n" + chaos.ScriptedBulk("MIGRATED") + ":1\r\n"
	server := chaos.NewScripted(t, chaos.ScriptedOpts{Raw: true, Handler: func(c *chaos.ScriptedConn, r chaos.ScriptedRequest) error {
		reply := "+OK\r\n"
		switch r.Cmd {
		case "HELLO":
			reply = "%1\r\n+proto\r\n:3\r\n"
		case "RESET":
			reply = "+RESET\r\n"
		case "PING":
			reply = "+PONG\r\n"
		case "ECHO":
			reply = chaos.ScriptedBulk(r.Args[0])
		}
		_, err := io.WriteString(c, reply+push+push)
		return err
	}})
	opts := oneDedicated
	opts.Protocol = 3
	conn := connect(t, server.Addr(), opts)
	for range 3 {
		require.NoError(t, redis.WithSession(t.Context(), conn, "", func(session *redis.Session) error {
			for range 3 {
				require.Equal(t, []byte("hi"), session.Do("ECHO", "hi"))
			}
			return nil
		}))
	}
	require.EqualValues(t, 1, conn.Stats().Dedicated.Connects)
}

func TestSessionMisuse(t *testing.T) {
	s := testbed.NewServer(t)
	conn := connect(t, s.Addr(), quiet)
	client := redis.Sync{S: conn}
	session, err := redis.OpenSession(t.Context(), conn, "")
	require.NoError(t, err)
	done := make(chan any, 1)
	go func() { done <- session.Do("BLPOP", "list", 0) }()
	blocked(t, client, 1)
	requireNotSent(t, session.Do("PING"), redis.ErrSessionBusy)
	session.Close()
	require.Equal(t, int64(1), client.Do("RPUSH", "list", "x"))
	require.NoError(t, redis.AsError(<-done), "the call that Close met ends as it would")
	session.Close()
	requireNotSent(t, session.Do("PING"), redis.ErrSessionClosed)

	decorated := struct{ *redisconn.Connection }{conn}
	_, err = redis.OpenSession(t.Context(), decorated, "")
	requireNotSent(t, err, redis.ErrSession)
	require.ErrorContains(t, err, "WithHook")
	_, err = redis.OpenSession(nil, conn, "") //nolint:staticcheck // that is the test
	requireType(t, err, redis.ErrContextIsNil)
	negative := connect(t, s.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}, DedicatedConns: -1})
	_, err = redis.OpenSession(t.Context(), negative, "")
	requireNotSent(t, err, redis.ErrSession)
}

// askRecorder is a server that records the requests on dedicated connections. took returns them and
// forgets them.
func askRecorder() (p *pipes, took func() string) {
	var mu sync.Mutex
	var said []string
	p = &pipes{Answer: func(args []string) string {
		switch args[0] {
		case "PING":
			return pong(args)
		case "RESET":
			return "+RESET\r\n"
		case "CLIENT":
			return ":7\r\n"
		case "INFO":
			return bulk("run_id:1\r\n")
		}
		mu.Lock()
		defer mu.Unlock()
		said = append(said, args[0])
		switch args[0] {
		case "GET":
			return "-MOVED 1 pipe:2\r\n"
		case "EXEC":
			return "*0\r\n"
		}
		return "+OK\r\n"
	}}
	return p, func() string {
		mu.Lock()
		defer mu.Unlock()
		defer func() { said = nil }()
		return strings.Join(said, " ")
	}
}

// A session sends ASKING for a limited time after an ASK, and again after the server has accepted a
// request with ASKING. The limit does not apply to a transaction whose keys were watched in time,
// nor to its reads.
func TestSessionAskHolds(t *testing.T) {
	virtualtime.Run(t, func(t *testing.T) {
		p, took := askRecorder()
		conn, _ := connectPipes(t, p, redisconn.Opts{})
		dedicated, err := backend.Of(conn).OpenDedicatedAsk(background, true)
		require.NoError(t, err)
		defer dedicated.Release()
		const within, beyond = 40 * time.Millisecond, 60 * time.Millisecond
		for _, step := range []struct {
			after time.Duration
			cmds  []string
			want  string
		}{
			{within, []string{"SET"}, "ASKING SET"},
			{within, []string{"SET", "SET"}, "ASKING SET ASKING SET"},
			{beyond, []string{"SET"}, "SET"},
			{0, []string{"SET"}, "SET"},
		} {
			time.Sleep(step.after)
			exchange(t, dedicated, step.cmds...)
			require.Equal(t, step.want, took())
		}

		watching, err := backend.Of(conn).OpenDedicatedAsk(background, true)
		require.NoError(t, err)
		defer watching.Release()
		exchange(t, watching, "GET") // the node refuses this GET
		time.Sleep(within)
		exchange(t, watching, "WATCH")
		time.Sleep(beyond)
		exchange(t, watching, "SET")
		exchange(t, watching, "GET")
		exchange(t, watching, "MULTI", "SET", "EXEC")
		time.Sleep(beyond)
		exchange(t, watching, "WATCH")
		exchange(t, watching, "MULTI", "SET", "EXEC")
		require.Equal(t, "ASKING GET ASKING WATCH SET ASKING GET ASKING MULTI SET EXEC WATCH MULTI SET EXEC", took())

		inName, err := backend.Of(conn).OpenDedicatedAsk(background, true)
		require.NoError(t, err)
		defer inName.Release()
		exchange(t, inName, "watch key")
		time.Sleep(beyond)
		exchange(t, inName, "MULTI", "SET", "EXEC")
		require.Equal(t, "ASKING watch ASKING MULTI SET EXEC", took())

		refused, err := backend.Of(conn).OpenDedicatedAsk(background, true)
		require.NoError(t, err)
		defer refused.Release()
		time.Sleep(within)
		exchange(t, refused, "GET")
		time.Sleep(within)
		exchange(t, refused, "GET")
		require.Equal(t, "ASKING GET GET", took())

		blocking, err := backend.Of(conn).OpenDedicatedAsk(background, true)
		require.NoError(t, err)
		defer blocking.Release()
		for range 3 {
			time.Sleep(within)
			exchange(t, blocking, "BLPOP")
		}
		time.Sleep(within)
		exchange(t, blocking, "SET")
		require.Equal(t, "ASKING BLPOP ASKING BLPOP ASKING BLPOP ASKING SET", took())
	})
}

// exchange sends commands in a session, each with a key.
func exchange(t *testing.T, d send.Dedicated, cmds ...string) {
	t.Helper()
	reqs := make([]send.Request, len(cmds))
	for i, cmd := range cmds {
		args := []any{"key"}
		switch cmd {
		case "MULTI", "EXEC":
			args = nil
		case "BLPOP":
			args = []any{"key", 0}
		}
		var err error
		reqs[i], _, err = backend.Encode(nil, redis.Req(cmd, args...), true)
		require.NoError(t, err)
	}
	require.NoError(t, d.Exchange(background, reqs, func(int, any) {}))
}

// A blocking command whose connection came too late is sent without ASKING.
func TestBlockingAskHolds(t *testing.T) {
	virtualtime.Run(t, func(t *testing.T) {
		p, took := askRecorder()
		conn, _ := connectPipes(t, p, redisconn.Opts{DedicatedConns: 1})
		pop := redis.Req("BLPOP", "list", 0)
		at := newOutcome()
		conn.SendAsk(pop, at, 0, true)
		require.Equal(t, "OK", at.Wait(t))
		require.Equal(t, "ASKING BLPOP", took())

		held, err := backend.Of(conn).OpenDedicatedAsk(background, false)
		require.NoError(t, err)
		late := newOutcome()
		conn.SendAsk(pop, late, 0, true)
		time.Sleep(time.Second)
		held.Release()
		require.Equal(t, "OK", late.Wait(t))
		require.Equal(t, "BLPOP", took())
	})
}
