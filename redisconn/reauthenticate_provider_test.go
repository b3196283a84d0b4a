package redisconn_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/conntest"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest/chaos"
)

// vault is a CredentialsProvider. The test changes its answer.
type vault struct {
	mu    sync.Mutex // guards the fields below
	creds redisconn.Credentials
	err   error
	asked int
}

func (v *vault) credentials(context.Context) (redisconn.Credentials, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.asked++
	return v.creds, v.err
}

func (v *vault) set(username, password string, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.creds, v.err = redisconn.Credentials{Username: username, Password: password}, err
}

func (v *vault) times() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.asked
}

func TestCredentialsProviderIsAskedAtEachConnect(t *testing.T) {
	s := twoUsers(t)
	for _, protocol := range []int{2, 3} {
		v := &vault{}
		v.set("alice", canary, nil)
		conn := connect(t, s.Addr(), redisconn.Opts{
			Username: "nobody", Password: "not asked for", Protocol: protocol,
			CredentialsProvider: v.credentials, Logger: redisconn.NoopLogger{},
		})
		require.Equal(t, "alice", whoami(t, conn))
		v.set("bob", canary+"-bob", nil)
		require.Equal(t, []byte("bob"), conn.DoStream(background, nil, "ACL WHOAMI"), "a socket of its own")
		require.Equal(t, int64(1), s.Do("CLIENT KILL", "USER", "alice"))
		eventually(t, "connected again", func() bool { return conn.Ping() == nil })
		require.Equal(t, "bob", whoami(t, conn))
		require.Equal(t, 3, v.times())
	}
}

// A provider's error ends the attempt to connect, but the connection tries again.
func TestCredentialsProviderFails(t *testing.T) {
	s := twoUsers(t)
	cause := errors.New("no token " + canary)
	v := &vault{err: cause}
	log := &recorder{}
	conn := connect(t, s.Addr(), redisconn.Opts{CredentialsProvider: v.credentials, Logger: log, ReconnectPause: time.Millisecond})
	eventually(t, "another attempt", func() bool { return log.Count("ConnectFailed") > 1 })
	failure := conntest.Event[redisconn.LogConnectFailed](log).Error
	e := requireNotSent(t, failure, redisconn.ErrCredentials)
	require.False(t, e.HasTrait(redisconn.ErrTraitInitPermanent))
	got, _ := e.Property(redisconn.EKCredentialsCause)
	require.Equal(t, cause, got)
	requireSecret(t, failure)
	requireNotSent(t, conn.DoStream(background, nil, "PING"), redisconn.ErrCredentials)

	v.set("alice", canary, nil)
	eventually(t, "connected", conn.ConnectedNow)
	require.Equal(t, "alice", whoami(t, conn))
}

func TestCredentialsProviderHasDialTimeout(t *testing.T) {
	t.Parallel()
	s := chaos.NewScripted(t, chaos.ScriptedOpts{})
	_, err := redisconn.Connect(background, s.Addr(), redisconn.Opts{
		ReconnectPause: -1, Logger: redisconn.NoopLogger{},
		CredentialsProvider: func(ctx context.Context) (redisconn.Credentials, error) {
			<-ctx.Done()
			return redisconn.Credentials{}, ctx.Err()
		},
	})
	e := requireNotSent(t, err, redisconn.ErrCredentials)
	got, _ := e.Property(redisconn.EKCredentialsCause)
	require.ErrorIs(t, got.(error), context.DeadlineExceeded)
	require.Empty(t, s.Requests())
}

func TestCredentialsHideThePassword(t *testing.T) {
	cr := redisconn.Credentials{Username: "me", Password: canary}
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
		for _, v := range []any{cr, &cr, struct{ Of redisconn.Credentials }{cr}} {
			text := fmt.Sprintf(format, v)
			require.NotContains(t, text, canary, format)
			require.NotContains(t, text, fmt.Sprintf("%x", canary), format)
		}
	}
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("made", "of", cr, "at", &cr)
	slog.New(slog.NewJSONHandler(&log, nil)).Info("made", "of", cr, "at", &cr)
	require.NotContains(t, log.String(), canary)
	require.Contains(t, log.String(), "me")
}

// If a provider calls Reauthenticate, it gets an error at once, because the call would wait for
// itself.
func TestReauthenticateWithinProvider(t *testing.T) {
	t.Parallel()
	t.Run("its context", func(t *testing.T) {
		reauthenticateWithinProvider(t, func(ctx context.Context) context.Context { return ctx })
	})
	t.Run("another context", func(t *testing.T) {
		reauthenticateWithinProvider(t, func(context.Context) context.Context { return background })
	})
}

func reauthenticateWithinProvider(t *testing.T, with func(context.Context) context.Context) {
	t.Parallel()
	s := twoUsers(t)
	v := &vault{}
	v.set("alice", canary, nil)
	var conn atomic.Pointer[redisconn.Connection]
	var within error
	called := connect(t, s.Addr(), redisconn.Opts{
		Logger: redisconn.NoopLogger{}, DialTimeout: time.Minute,
		CredentialsProvider: func(ctx context.Context) (redisconn.Credentials, error) {
			if conn := conn.Load(); conn != nil {
				within = conn.Reauthenticate(with(ctx))
			}
			return v.credentials(ctx)
		},
	})
	conn.Store(called)
	require.NoError(t, called.Reauthenticate(background))
	requireType(t, within, redisconn.ErrCredentials)

	within = nil
	require.Equal(t, int64(1), s.Do("CLIENT KILL", "USER", "alice"))
	eventually(t, "connected again", func() bool { return called.Ping() == nil })
	requireType(t, within, redisconn.ErrCredentials)
}

// A provider may call Reauthenticate of another connection.
func TestReauthenticateOfAnotherWithinProvider(t *testing.T) {
	t.Parallel()
	s := twoUsers(t)
	v := &vault{}
	v.set("alice", canary, nil)
	other := connect(t, s.Addr(), redisconn.Opts{CredentialsProvider: v.credentials, Logger: redisconn.NoopLogger{}})
	connect(t, s.Addr(), redisconn.Opts{
		Logger: redisconn.NoopLogger{},
		CredentialsProvider: func(ctx context.Context) (redisconn.Credentials, error) {
			assert.NoError(t, other.Reauthenticate(ctx))
			return v.credentials(ctx)
		},
	})
}
