package redisconn_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/conntest"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest/chaos"
	"github.com/joomcode/redispipe/testbed"
)

// A session is closed no matter how its function ends.
func TestWithSessionEnds(t *testing.T) {
	s := testbed.NewServer(t)
	conn := connect(t, s.Addr(), oneDedicated)
	errTest := errors.New("test")
	require.ErrorIs(t, redis.WithSession(t.Context(), conn, "", func(*redis.Session) error { return errTest }), errTest)
	require.Panics(t, func() {
		_ = redis.WithSession(t.Context(), conn, "", func(*redis.Session) error { panic("test") })
	})
	var wg sync.WaitGroup
	wg.Go(func() {
		_ = redis.WithSession(t.Context(), conn, "", func(*redis.Session) error { runtime.Goexit(); return nil })
	})
	wg.Wait()
	require.NoError(t, redis.WithSession(t.Context(), conn, "", func(*redis.Session) error { return nil }))
	require.NoError(t, conn.Shutdown(t.Context()), "none is open")
}

// A session whose connection was lost stays unusable. The next session gets another connection.
func TestSessionLost(t *testing.T) {
	s := testbed.NewServer(t)
	conn := connect(t, s.Addr(), oneDedicated)
	client := redis.Sync{S: conn}
	session, err := redis.OpenSession(t.Context(), conn, "")
	require.NoError(t, err)
	defer session.Close()
	id := session.Do("CLIENT", "ID")
	require.Equal(t, int64(1), client.Do("CLIENT", "KILL", "ID", id))
	require.Error(t, redis.AsError(session.Do("PING")))
	requireNotSent(t, session.Do("PING"), redis.ErrSessionLost)
	session.Close()
	require.NoError(t, redis.WithSession(t.Context(), conn, "", func(session *redis.Session) error {
		return redis.AsError(session.Do("PING"))
	}))
}

func TestSessionContext(t *testing.T) {
	s := testbed.NewServer(t)
	conn := connect(t, s.Addr(), oneDedicated)
	admin := redis.Sync{S: connect(t, s.Addr(), quiet)}
	session, err := redis.OpenSession(t.Context(), conn, "")
	require.NoError(t, err)

	short, stop := context.WithCancel(t.Context())
	waits := make(chan error, 1)
	go func() {
		_, err := redis.OpenSession(short, conn, "")
		waits <- err
	}()
	eventually(t, "it waits", func() bool { return conn.Pending() == 2 })
	stop()
	requireNotSent(t, <-waits, redis.ErrRequestWithdrawn)

	session.Close()

	untilUnblocked(t, admin, func(ctx context.Context) any {
		session, err := redis.OpenSession(ctx, conn, "")
		require.NoError(t, err)
		defer session.Close()
		res := session.Do("BLPOP", "list", 0)
		requireNotSent(t, session.Do("PING"), redis.ErrRequestWithdrawn)
		return res
	})
}

func TestSessionLeaked(t *testing.T) {
	s := testbed.NewServer(t)
	log := &recorder{}
	conn := connect(t, s.Addr(), redisconn.Opts{Logger: log, DedicatedConns: 1, TraceSessions: true})
	_, err := redis.OpenSession(t.Context(), conn, "")
	require.NoError(t, err)
	eventually(t, "the leak is reported", func() bool {
		runtime.GC()
		return log.Count("SessionLeaked") == 1
	})
	require.Contains(t, conntest.Event[redisconn.LogSessionLeaked](log).Opened, "TestSessionLeaked")
	require.NoError(t, redis.WithSession(t.Context(), conn, "", func(*redis.Session) error { return nil }))
}

// A session returns the element of a pop even if its connection is lost right after the reply. In
// this test the server answers UNBLOCKED and still runs the pop, like a server that has paused its
// clients.
func TestSessionLostBehindElement(t *testing.T) {
	var popping atomic.Int64 // ID of the connection that pops
	s := chaos.NewScripted(t, chaos.ScriptedOpts{Raw: true, Handler: func(c *chaos.ScriptedConn, r chaos.ScriptedRequest) error {
		reply := "+OK\r\n"
		switch {
		case r.Cmd == "BLPOP":
			popping.Store(int64(r.Conn))
			reply = "-UNBLOCKED client unblocked via CLIENT UNBLOCK\r\n"
		case r.Cmd == "PING" && popping.Load() == int64(r.Conn):
			defer c.Close()
			reply = "*2\r\n$4\r\nlist\r\n$1\r\nx\r\n"
		case r.Cmd == "PING" && len(r.Args) > 0:
			reply = chaos.ScriptedBulk(r.Args[0])
		case r.Cmd == "PING":
			reply = "+PONG\r\n"
		case r.Cmd == "CLIENT" && r.Args[0] == "ID":
			reply = fmt.Sprintf(":%d\r\n", r.Conn)
		}
		_, err := c.Write([]byte(reply))
		return err
	}})
	session, err := redis.OpenSession(t.Context(), connect(t, s.Addr(), quiet), "")
	require.NoError(t, err)
	defer session.Close()
	require.Equal(t, []any{[]byte("list"), []byte("x")}, session.Do("BLPOP", "list", 0))
	requireNotSent(t, session.Do("PING"), redis.ErrSessionLost)
}

// If a session's context ends while the element arrives, the session returns the element, and then
// is lost.
func TestSessionCancelledByAnswer(t *testing.T) {
	s := testbed.NewServer(t)
	admin := redis.Sync{S: connect(t, s.Addr(), quiet)}
	require.Equal(t, "OK", admin.Do("ACL", "SETUSER", "noid", "on", ">pw", "~*", "+@all", "-client"))
	ctx, cancel := context.WithCancel(t.Context())
	var armed atomic.Bool
	last := false // the next line end is that of the element
	closed := make(chan struct{}, 8)
	conn := connect(t, s.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}, Username: "noid", Password: "pw",
		Dialer: dedicatedAs(func(conn net.Conn) net.Conn {
			return &conntest.Socket{Conn: conn, OnClose: func() { closed <- struct{}{} }, OnRead: func(got byte) {
				if got == '\n' && last {
					cancel() // closes the connection, which can't be unblocked because its client ID is not known
					<-closed
				}
				last = armed.Load() && (got == '!' || last && got == '\r')
			}}
		})})
	session, err := redis.OpenSession(ctx, conn, "")
	require.NoError(t, err)
	armed.Store(true)
	done := make(chan any, 1)
	go func() { done <- session.Do("BLPOP", "list", 0) }()
	blocked(t, admin, 1)
	require.Equal(t, int64(1), admin.Do("RPUSH", "list", "!"))
	require.Equal(t, []any{[]byte("list"), []byte("!")}, conntest.Await(t, "the element", done))
	requireNotSent(t, session.Do("PING"), redis.ErrRequestWithdrawn)
}
