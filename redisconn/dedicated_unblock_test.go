package redisconn_test

import (
	"context"
	"net"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/conntest"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/testbed"
)

// notUnblocked cancels commands until three of them could not be unblocked. Each of these counts,
// and the first is reported. A command does not count if its connection was closed because the
// server was late.
func notUnblocked(t *testing.T, conn *redisconn.Connection, log *recorder, cancelled func()) {
	t.Helper()
	rounds := uint64(0)
	count := func() uint64 { return conn.Stats().Dedicated.NotUnblocked }
	for deadline := time.Now().Add(patience); count() < 3 && time.Now().Before(deadline); rounds++ {
		cancelled()
	}
	require.GreaterOrEqual(t, count(), uint64(3))
	require.LessOrEqual(t, count(), rounds)
	require.Equal(t, 1, log.Count("NotUnblocked"))
}

// If the shared connection leads to another server process, the client ID of a dedicated connection
// belongs to another client there, which must not be unblocked.
func TestUnblockBehindBalancer(t *testing.T) {
	testbed.Needs(t, testbed.Version(7, 0)) // older versions have no statistics of subcommands
	a, b := testbed.NewServer(t), testbed.NewServer(t)
	others := connect(t, a.Addr(), quiet)
	for range 30 {
		sendTo(others, "BLPOP", "theirs", 0)
	}
	atA := redis.Sync{S: others}
	blocked(t, atA, 30)
	ids := func() (ids []string) {
		for _, line := range listed(t, atA) {
			ids = append(ids, idOf(line))
		}
		return ids
	}()

	log := &recorder{}
	var dials atomic.Int64
	conn := connect(t, a.Addr(), redisconn.Opts{Logger: log, Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
		if dials.Add(1) > 1 { // the first dial is for the shared connection
			addr = b.Addr()
		}
		return (&net.Dialer{}).DialContext(ctx, network, addr)
	}})
	atB := redis.Sync{S: connect(t, b.Addr(), quiet)}
	notUnblocked(t, conn, log, func() {
		ctx, cancel := context.WithCancel(t.Context())
		done := doing(ctx, conn, "BLPOP", "list", 0)
		blocked(t, atB, 1)
		id := blockedID(t, atB)
		for !slices.Contains(ids, id) { // dial until the client ID is also an ID on the other server
			require.Equal(t, int64(1), atB.Do("CLIENT", "KILL", "ID", id))
			requireUnknown(t, <-done, redis.ErrIO)
			done = doing(ctx, conn, "BLPOP", "list", 0)
			blocked(t, atB, 1)
			id = blockedID(t, atB)
		}
		cancel()
		requireUnknown(t, <-done, redis.ErrRequestCancelled)
		blocked(t, atB, 0)
	})
	var stats string
	require.NoError(t, atA.DoInto(&stats, "INFO", "commandstats"))
	require.NotContains(t, stats, "client|unblock")
	blocked(t, atA, 30)
	require.ErrorContains(t, conntest.Event[redisconn.LogNotUnblocked](log).Error, "same process")
}

// After a restart, a server gives the same client IDs to other clients, which must not be
// unblocked.
func TestUnblockAfterRestart(t *testing.T) {
	testbed.Needs(t, testbed.Version(7, 0)) // older versions have no statistics of subcommands
	old, next := testbed.NewServer(t), testbed.NewServer(t)
	var restarted atomic.Bool
	conn := connect(t, old.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}, Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
		if restarted.Load() {
			addr = next.Addr()
		}
		return (&net.Dialer{}).DialContext(ctx, network, addr)
	}})
	atOld, atNew := redis.Sync{S: connect(t, old.Addr(), quiet)}, redis.Sync{S: connect(t, next.Addr(), quiet)}
	untilUnblocked(t, atOld, func(ctx context.Context) any { return redis.SyncCtx{S: conn}.Do(ctx, "BLPOP", "list", 0) })

	ctx, cancel := context.WithCancel(t.Context())
	done := doing(ctx, conn, "BLPOP", "list", 0)
	blocked(t, atOld, 1)
	restarted.Store(true)
	require.Equal(t, int64(1), atOld.Do("CLIENT", "KILL", "LADDR", old.Addr(), "ADDR", conn.LocalAddr()))
	eventually(t, "the shared connection is at the new one", func() bool { return conn.RemoteAddr() == next.Addr() })
	cancel()
	requireUnknown(t, <-done, redis.ErrRequestCancelled)
	var stats string
	require.NoError(t, atNew.DoInto(&stats, "INFO", "commandstats"))
	require.NotContains(t, stats, "client|unblock")
}

// If the ACL user may not unblock clients, that is reported once, and counted each time.
func TestUnblockNotAllowed(t *testing.T) {
	testbed.Needs(t, testbed.Version(7, 0)) // older versions have no permissions for subcommands
	s := testbed.NewServer(t)
	admin := redis.Sync{S: connect(t, s.Addr(), quiet)}
	for user, missing := range map[string]string{"noid": "client|id", "nounblock": "client|unblock", "noinfo": "info"} {
		t.Run(user, func(t *testing.T) {
			require.Equal(t, "OK", admin.Do("ACL", "SETUSER", user, "on", ">"+canary, "~*", "+@all", "-"+missing))
			log := &recorder{}
			conn := connect(t, s.Addr(), redisconn.Opts{Logger: log, Username: user, Password: canary})
			notUnblocked(t, conn, log, func() {
				ctx, cancel := context.WithCancel(t.Context())
				done := doing(ctx, conn, "BLPOP", "list", 0)
				blocked(t, admin, 1)
				cancel()
				requireUnknown(t, <-done, redis.ErrRequestCancelled)
				blocked(t, admin, 0)
			})
			failure := conntest.Event[redisconn.LogNotUnblocked](log).Error
			require.ErrorContains(t, failure, missing)
			requireSecret(t, failure)
		})
	}
}

// A server that becomes a replica answers blocking commands with UNBLOCKED and closes the
// connection. The result is UNBLOCKED, because nothing ran.
func TestBlockedAtFailover(t *testing.T) {
	t.Parallel()
	s, master := testbed.NewServer(t), testbed.NewServer(t)
	conn := connect(t, s.Addr(), quiet)
	admin := redis.Sync{S: connect(t, s.Addr(), quiet)}
	host, port, err := net.SplitHostPort(master.Addr())
	require.NoError(t, err)
	for name, pop := range map[string]func() any{
		"command": func() any { return redis.SyncCtx{S: conn}.Do(t.Context(), "BLPOP", "list", 0) },
		"session": func() (res any) {
			_ = redis.WithSession(t.Context(), conn, "list", func(session *redis.Session) error {
				res = session.Do("BLPOP", "list", 0)
				return nil
			})
			return res
		},
	} {
		popped := make(chan any, 1)
		go func() { popped <- pop() }()
		blocked(t, admin, 1)
		require.Equal(t, "OK", s.Do("REPLICAOF", host, port))
		err := redis.AsErrorx(conntest.Await(t, name, popped))
		require.NotNil(t, err, name)
		require.Contains(t, err.Message(), "UNBLOCKED", name)
		require.Equal(t, redis.OutcomeRefused, redis.OutcomeOf(err), name)
		require.True(t, redis.SafeToRetry(err), name)
		require.Equal(t, "OK", s.Do("REPLICAOF", "NO", "ONE"))
	}
}
