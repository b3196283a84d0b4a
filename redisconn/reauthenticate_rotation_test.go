package redisconn_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/conntest"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest/chaos"
	"github.com/joomcode/redispipe/testbed"
)

// Reauthenticate waits for handshakes that use the old credentials, so that the server may forget
// these afterwards.
func TestReauthenticateWaitsForHandshakes(t *testing.T) {
	t.Parallel()
	for name, use := range map[string]func(context.Context, *redisconn.Connection) error{
		"session": func(ctx context.Context, conn *redisconn.Connection) error {
			return redis.WithSession(ctx, conn, "", func(*redis.Session) error { return nil })
		},
		"stream": func(ctx context.Context, conn *redisconn.Connection) error {
			return redis.AsError(conn.DoStream(ctx, nil, "PING"))
		},
		"push": func(ctx context.Context, conn *redisconn.Connection) error {
			p, err := conn.OpenPush(ctx)
			if err == nil {
				p.Close()
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := testbed.NewServer(t, testbed.Options{ACL: []string{"alice on >" + canary + " ~* &* +@all"}})
			v := &vault{}
			v.set("alice", canary, nil)
			asked, release, calls := make(chan struct{}), make(chan struct{}), atomic.Int64{}
			conn := connect(t, s.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{},
				CredentialsProvider: func(ctx context.Context) (redisconn.Credentials, error) {
					cr, err := v.credentials(ctx)
					if calls.Add(1) == 2 { // the first call is for the shared connection
						close(asked)
						<-release
					}
					return cr, err
				}})
			used := make(chan error, 1)
			go func() { used <- use(t.Context(), conn) }()
			conntest.Await(t, "the old credentials", asked)

			require.Equal(t, "OK", s.Do("ACL SETUSER", "alice", ">"+canary+"-2"))
			v.set("alice", canary+"-2", nil)
			done := make(chan error, 1)
			go func() { done <- conn.Reauthenticate(t.Context()) }()
			var err error
			select {
			case err = <-done: // too soon
				require.Equal(t, "OK", s.Do("ACL SETUSER", "alice", "<"+canary))
				close(release)
			case <-time.After(100 * time.Millisecond):
				close(release)
				err = conntest.Await(t, "the confirmation", done)
				require.Equal(t, "OK", s.Do("ACL SETUSER", "alice", "<"+canary))
			}
			require.NoError(t, err)
			require.NoError(t, conntest.Await(t, "the socket", used))
		})
	}
}

// The provider is asked once for each socket and once for each rotation, but not when a session's
// connection is made like new.
func TestCredentialsProviderIsNotAskedByResets(t *testing.T) {
	s := twoUsers(t)
	v := &vault{}
	v.set("alice", canary, nil)
	conn := connect(t, s.Addr(), redisconn.Opts{CredentialsProvider: v.credentials, DedicatedConns: 1, Logger: redisconn.NoopLogger{}})
	who := func() (name string) {
		require.NoError(t, redis.WithSession(t.Context(), conn, "", func(session *redis.Session) error {
			return session.DoInto(&name, "ACL WHOAMI")
		}))
		return name
	}
	for range 20 {
		require.Equal(t, "alice", who())
	}
	require.Equal(t, 2, v.times())
	require.NoError(t, redis.WithSession(t.Context(), conn, "", func(*redis.Session) error {
		v.set("bob", canary+"-bob", nil)
		return conn.Reauthenticate(t.Context())
	}))
	for range 20 {
		require.Equal(t, "bob", who())
	}
	require.Equal(t, 3, v.times())
	require.EqualValues(t, 1, conn.Stats().Dedicated.Connects)
}

// Reauthenticate returns an error if a socket was lost, because that socket has not confirmed the
// credentials.
func TestReauthenticateTellsWhatWasNotConfirmed(t *testing.T) {
	s := chaos.NewScripted(t, chaos.ScriptedOpts{})
	v, log := &vault{}, &recorder{}
	conn := connect(t, s.Addr(), redisconn.Opts{CredentialsProvider: v.credentials, Logger: log})
	requireType(t, conn.Reauthenticate(background), redisconn.ErrCredentials, "there are none")
	require.Equal(t, 1, log.Count("AuthFailed"))
	v.set("alice", canary, nil)
	require.NoError(t, conn.Reauthenticate(background))
	s.Close()
	eventually(t, "disconnected", func() bool { return !conn.MayBeConnected() || !conn.ConnectedNow() })
	requireType(t, conn.Reauthenticate(background), redisconn.ErrNotConnected)
	require.Equal(t, 1, log.Count("AuthFailed"), "the next socket asks by itself")
}

// Close, or the end of its context, ends a Reauthenticate whose provider has not returned.
func TestReauthenticateWithoutProvider(t *testing.T) {
	s := chaos.NewScripted(t, chaos.ScriptedOpts{})
	late, calls := make(chan struct{}), atomic.Int64{}
	defer close(late)
	conn := connect(t, s.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{},
		CredentialsProvider: func(context.Context) (redisconn.Credentials, error) {
			if calls.Add(1) > 1 {
				<-late
			}
			return redisconn.Credentials{Password: canary}, nil
		}})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- conn.Reauthenticate(ctx) }()
	eventually(t, "it asks", func() bool { return calls.Load() == 2 })
	cancel()
	requireType(t, conntest.Await(t, "the end", done), redis.ErrRequestCancelled)
	go func() { done <- conn.Reauthenticate(background) }()
	eventually(t, "it asks", func() bool { return calls.Load() == 3 })
	conn.Close()
	requireType(t, conntest.Await(t, "the end", done), redis.ErrContextClosed)
}

// With RESP3, sockets of subscribers authenticate again, and subscribers do not notice. With RESP2
// a server refuses that.
func TestReauthenticatePush(t *testing.T) {
	s := twoUsers(t)
	v, log := &vault{}, &recorder{}
	v.set("alice", canary, nil)
	conn := connect(t, s.Addr(), redisconn.Opts{CredentialsProvider: v.credentials, Protocol: 3, Logger: log})
	p, err := conn.OpenPush(t.Context())
	require.NoError(t, err)
	defer p.Close()
	require.NoError(t, p.Send(redis.Req("SUBSCRIBE", "a")))
	var push redis.Push
	_, pushed, err := p.Receive(&push)
	require.NoError(t, err)
	require.True(t, pushed)

	received := make(chan string, 8)
	go func() {
		for {
			reply, pushed, err := p.Receive(&push)
			switch {
			case err != nil:
				close(received)
				return
			case pushed:
				received <- string(push.Body)
			default:
				received <- redis.AsError(reply).Error()
			}
		}
	}()
	users := func() (n int) {
		for _, line := range listed(t, redis.Sync{S: conn}) {
			if containsAll(line, "cmd=", "sub=1", "user=bob") {
				n++
			}
		}
		return n
	}
	require.Zero(t, users())
	for range 3 {
		v.set("bob", canary+"-bob", nil)
		require.NoError(t, conn.Reauthenticate(t.Context()))
		eventually(t, "it is bob's", func() bool { return users() == 1 })
		require.Equal(t, int64(1), redis.Sync{S: conn}.Do("PUBLISH", "a", "hi"))
		require.Equal(t, "hi", conntest.Await(t, "the message", received))
	}
	require.Zero(t, log.Count("AuthFailed"))
	p.Close()
	_, open := <-received
	require.False(t, open)
	require.NoError(t, conn.Reauthenticate(t.Context()))
}

// If AUTH is refused on a subscriber's socket, that is reported, and the subscriber does not take
// it for the refusal of its own command.
func TestReauthenticatePushRefused(t *testing.T) {
	var auths atomic.Int64
	s := chaos.NewScripted(t, chaos.ScriptedOpts{Raw: true, Handler: func(c *chaos.ScriptedConn, r chaos.ScriptedRequest) error {
		reply := "+OK\r\n"
		switch {
		case r.Cmd == "HELLO":
			reply = "%1\r\n+proto\r\n:3\r\n"
		case r.Cmd == "PING":
			reply = pong(append([]string{"PING"}, r.Args...))
		case r.Cmd == "SUBSCRIBE":
			reply = "-NOPERM no such channel\r\n"
		case r.Cmd == "AUTH" && auths.Add(1) > 1:
			reply = "-WRONGPASS " + canary + " is wrong\r\n"
		}
		_, err := c.Write([]byte(reply))
		return err
	}})
	log := &recorder{}
	conn := connect(t, s.Addr(), redisconn.Opts{Password: canary, Protocol: 3, Logger: log})
	p, err := conn.OpenPush(t.Context())
	require.NoError(t, err)
	defer p.Close()
	require.NoError(t, p.Send(redis.Req("SUBSCRIBE", "a")))
	require.NoError(t, conn.Reauthenticate(t.Context()))
	require.NoError(t, p.Send(redis.Req("SUBSCRIBE", "a"), redis.Req("PING", "end")))
	var push redis.Push
	for range 2 {
		reply, _, err := p.Receive(&push)
		require.NoError(t, err)
		require.ErrorContains(t, redis.AsError(reply), "NOPERM")
	}
	reply, _, err := p.Receive(&push)
	require.NoError(t, err)
	require.Equal(t, []byte("end"), reply)
	failure := conntest.Event[redisconn.LogAuthFailed](log).Error
	requireType(t, failure, redisconn.ErrAuth)
	requireSecret(t, failure)
}

func containsAll(s string, parts ...string) bool {
	for _, part := range parts {
		if !strings.Contains(s, part) {
			return false
		}
	}
	return true
}
