package redisconn_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/backend"
	"github.com/joomcode/redispipe/internal/conntest"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest/chaos"
	"github.com/joomcode/redispipe/testbed"
)

func twoUsers(t *testing.T) *testbed.Server {
	return testbed.NewServer(t, testbed.Options{ACL: []string{
		"alice on >" + canary + " ~* &* +@all", "bob on >" + canary + "-bob ~* &* +@all",
	}})
}

func whoami(t *testing.T, conn *redisconn.Connection) string {
	t.Helper()
	name, err := redis.As[string](redis.Sync{S: conn}.Do("ACL WHOAMI"))
	require.NoError(t, err)
	return name
}

func TestReauthenticate(t *testing.T) {
	s := twoUsers(t)
	for name, opts := range map[string]redisconn.Opts{
		"RESP2": {}, "RESP3": {Protocol: 3}, "integrity": {Integrity: true},
	} {
		t.Run(name, func(t *testing.T) {
			v, log := &vault{}, &recorder{}
			v.set("alice", canary, nil)
			opts.CredentialsProvider, opts.Logger = v.credentials, log
			conn := connect(t, s.Addr(), opts)
			local := conn.LocalAddr()

			v.set("bob", canary+"-bob", nil)
			require.NoError(t, conn.Reauthenticate(background))
			require.Equal(t, "bob", whoami(t, conn))

			v.set("alice", canary+"-wrong", nil)
			err := conn.Reauthenticate(background)
			requireType(t, err, redisconn.ErrAuth)
			requireSecret(t, err)
			require.Equal(t, err, redis.Err(conntest.Event[redisconn.LogAuthFailed](log).Error))

			v.set("", "", errors.New(canary))
			err = conn.Reauthenticate(background)
			requireType(t, err, redisconn.ErrCredentials)
			requireSecret(t, err)

			v.set("", "", nil)
			requireType(t, conn.Reauthenticate(background), redisconn.ErrCredentials, "nothing to authenticate with")
			require.Equal(t, 3, log.Count("AuthFailed"))
			require.Equal(t, "bob", whoami(t, conn), "the user stays")
			require.Equal(t, local, conn.LocalAddr(), "the socket stays")
			require.Zero(t, log.Count("Disconnected"))
			for _, st := range log.Stats() {
				require.NotEqual(t, "AUTH", st.Req.Cmd, "it has a secret")
			}
			// With Integrity the replies of a batch are delivered before the batch, which ends with
			// the fence, is taken out of flight.
			eventually(t, "nothing is pending", func() bool { return conn.Pending() == 0 })
		})
	}
}

// AUTH never comes between the requests of a transaction, nor between ASKING and
// its command.
func TestReauthenticateBetweenBatches(t *testing.T) {
	s := chaos.NewScripted(t, chaos.ScriptedOpts{})
	conn := connect(t, s.Addr(), redisconn.Opts{Password: canary, Logger: redisconn.NoopLogger{}})
	var wg sync.WaitGroup
	var done atomic.Bool
	for range 4 {
		wg.Go(func() {
			for range 300 {
				got := newOutcomes(2)
				conn.SendTransaction([]redis.Request{redis.Req("IN", 1), redis.Req("IN", 2)}, redis.FuncFuture(func(res any, _ uint64) { got.Resolve(res, 0) }), 0)
				conn.SendAsk(redis.Req("ASKED"), redis.FuncFuture(func(res any, _ uint64) { got.Resolve(res, 1) }), 0, true)
				got.Wait(t)
			}
		})
	}
	go func() { wg.Wait(); done.Store(true) }()
	for !done.Load() {
		require.NoError(t, conn.Reauthenticate(background))
	}
	next := map[string]string{"MULTI": "IN 1", "IN 1": "IN 2", "IN 2": "EXEC", "ASKING": "ASKED"}
	want, auths := "", 0
	for _, r := range s.Requests() {
		said := strings.TrimSpace(r.Cmd + " " + strings.Join(r.Args, " "))
		if want != "" {
			require.Equal(t, want, said)
		}
		want = next[said]
		if r.Cmd == "AUTH" {
			auths++
		}
	}
	require.Greater(t, auths, 1)
}

// While the queue is full, Reauthenticate waits for room like any caller.
func TestReauthenticateWaitsForRoom(t *testing.T) {
	s := chaos.NewScripted(t, chaos.ScriptedOpts{})
	conn, ready := conntest.SlowDial(t, s.Addr(), redisconn.Opts{Password: canary, MaxRequests: 1})
	full := sendTo(conn, "GET", "a")
	ctx, cancel := context.WithCancel(background)
	ended := make(chan error, 1)
	go func() { ended <- conn.Reauthenticate(ctx) }()
	cancel()
	requireType(t, <-ended, redis.ErrRequestCancelled)

	go func() { ended <- conn.Reauthenticate(background) }()
	ready()
	require.NoError(t, <-ended)
	require.Equal(t, "OK", full.Wait(t))
}

func TestReauthenticateWithoutSocket(t *testing.T) {
	s := chaos.NewScripted(t, chaos.ScriptedOpts{})
	conn, ready := conntest.SlowDial(t, s.Addr(), redisconn.Opts{Password: canary})
	ctx, cancel := context.WithCancel(background)
	cancel()
	requireType(t, conn.Reauthenticate(ctx), redis.ErrRequestCancelled)
	requireType(t, conn.Reauthenticate(nil), redis.ErrContextIsNil) //nolint:staticcheck // on purpose
	ready()
	require.NoError(t, conn.Reauthenticate(background), "queued until there is a socket")
	s.Close()
	eventually(t, "disconnected", func() bool { return !conn.ConnectedNow() })
	requireType(t, conn.Reauthenticate(background), redisconn.ErrNotConnected)
	conn.Close()
	requireType(t, conn.Reauthenticate(background), redis.ErrContextClosed)

	script := connect(t, twoUsers(t).Addr(), redisconn.Opts{ScriptMode: true, Logger: redisconn.NoopLogger{}})
	requireType(t, script.Reauthenticate(background), redis.ErrCommandForbidden)
}

// A malformed answer to AUTH may quote the password. No error or property of an error contains it.
func TestReauthenticateAnsweredWithThePassword(t *testing.T) {
	for _, integrity := range []bool{false, true} {
		for _, answer := range []string{"-MOVED " + canary + "\r\n", "/" + canary + "\r\n"} {
			s := chaos.NewScripted(t, chaos.ScriptedOpts{Raw: true, Handler: func(c *chaos.ScriptedConn, r chaos.ScriptedRequest) error {
				reply := "+OK\r\n"
				switch {
				case r.Cmd == "AUTH" && r.Conn == 1:
					reply = answer
				case r.Cmd == "PING" && len(r.Args) == 0:
					reply = "+PONG\r\n"
				case r.Cmd == "PING":
					reply = chaos.ScriptedBulk(r.Args[0])
				}
				_, err := io.WriteString(c, reply)
				return err
			}})
			v, log := &vault{}, &recorder{}
			conn := connect(t, s.Addr(), redisconn.Opts{CredentialsProvider: v.credentials, Logger: log, Integrity: integrity})
			v.set("", canary, nil)
			failures := []error{conn.Reauthenticate(background)}
			if answer[0] != '-' {
				eventually(t, "disconnected", func() bool { return log.Count("Disconnected") > 0 })
				failures = append(failures, conntest.Event[redisconn.LogDisconnected](log).Error)
			}
			for _, err := range failures {
				requireSecret(t, err)
				for ; err != nil; err = redis.AsErrorx(err).Cause() {
					_, quotes := redis.AsErrorx(err).Property(redis.EKLine)
					require.False(t, quotes, "%v", err)
				}
			}
		}
	}
}

// After Reauthenticate, no dedicated connection with the old credentials is used.
func TestReauthenticateDedicated(t *testing.T) {
	s := twoUsers(t)
	v := &vault{}
	v.set("alice", canary, nil)
	conn := connect(t, s.Addr(), redisconn.Opts{CredentialsProvider: v.credentials, Logger: redisconn.NoopLogger{}})
	client := redis.Sync{S: conn}
	who := func() (name string) {
		require.NoError(t, redis.WithSession(t.Context(), conn, "", func(session *redis.Session) error {
			return session.DoInto(&name, "ACL WHOAMI")
		}))
		return name
	}
	open, err := redis.OpenSession(t.Context(), conn, "")
	require.NoError(t, err)
	pop := sendTo(conn, "BLPOP", "list", 0)
	blocked(t, client, 1)
	require.Equal(t, "alice", who())
	eventually(t, "one is idle", func() bool { return conn.Stats().Dedicated.Idle == 1 })

	v.set("bob", canary+"-bob", nil)
	require.NoError(t, conn.Reauthenticate(t.Context()))
	require.Zero(t, conn.Stats().Dedicated.Idle)
	require.Equal(t, int64(1), client.Do("RPUSH", "list", "x"))
	require.NoError(t, redis.AsError(pop.Wait(t)))
	require.Equal(t, []byte("alice"), open.Do("ACL WHOAMI"))
	open.Close()
	eventually(t, "the session's is greeted anew", func() bool { return conn.Stats().Dedicated.Idle == 1 })
	for range 3 {
		require.Equal(t, "bob", who())
	}
	eventually(t, "alice is nowhere", func() bool { return !strings.Contains(fmt.Sprint(listed(t, client)), "user=alice") })
}

// A tracking connection may be in a handshake with the old credentials. Reauthenticate waits for
// the end of that handshake, and sends AUTH on that connection, too.
func TestReauthenticateOfATrackerThatIsDialed(t *testing.T) {
	s := chaos.NewScripted(t, chaos.ScriptedOpts{})
	v := &vault{}
	v.set("alice", canary, nil)
	var calls atomic.Int32
	tracking, release := make(chan struct{}), make(chan struct{})
	conn := connect(t, s.Addr(), redisconn.Opts{IOTimeout: time.Minute, Logger: redisconn.NoopLogger{},
		CredentialsProvider: func(ctx context.Context) (redisconn.Credentials, error) {
			cr, err := v.credentials(ctx)
			if calls.Add(1) == 2 {
				close(tracking)
				<-release
			}
			return cr, err
		},
	})
	made := make(chan error, 1)
	go func() {
		_, err := backend.Of(conn).OpenTracking(t.Context(), func(*redis.Push) {}, func() {})
		made <- err
	}()
	conntest.Await(t, "the tracker asks for its credentials", tracking)
	v.set("alice", canary+"-new", nil)
	ended := make(chan error, 1)
	go func() { ended <- conn.Reauthenticate(background) }()
	select {
	case err := <-ended:
		t.Fatal("Reauthenticate has not waited for the tracker", err)
	case <-time.After(50 * time.Millisecond): // it waits, or is not that far yet
	}
	close(release)
	require.NoError(t, conntest.Await(t, "the tracker", made))
	require.NoError(t, conntest.Await(t, "Reauthenticate", ended))
	eventually(t, "AUTH on the tracker's socket", func() bool {
		return slices.ContainsFunc(s.Requests(), func(r chaos.ScriptedRequest) bool {
			return r.Conn == 2 && r.Cmd == "AUTH" && slices.Contains(r.Args, canary+"-new")
		})
	})
}
