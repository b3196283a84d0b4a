package rediscluster_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster"
	"github.com/joomcode/redispipe/testbed"
)

// After FAILOVER, a master that has become a replica redirects every request. So no read gets an old value
// from it, no write runs twice or is lost, and a blocked command continues on the new master.
func TestReplicatedIsRedirected(t *testing.T) {
	t.Parallel()
	testbed.Needs(t, testbed.Redirect)
	g := testbed.NewGroup(t, testbed.GroupOptions{Replicas: 1})
	db := redis.SyncCtx{S: redis.WithRetry(newReplicated(t, g.Addrs(), rediscluster.Opts{CheckInterval: time.Hour}), redis.RetryOpts{Within: patience})}
	ctx := t.Context()
	calls := func(s *testbed.Server, cmd string) bool {
		info, _ := redis.As[string](s.Do("INFO", "commandstats"))
		line := infoLine(info, "cmdstat_"+cmd)
		return line != "" && !strings.HasPrefix(line, "calls=0,")
	}
	for round, cmd := range []string{"GET", "STRLEN"} {
		old, next := g.Servers()[round%2], g.Servers()[1-round%2]
		require.NoError(t, g.WaitReplicas(old))
		require.Equal(t, int64(2*round+1), db.Do(ctx, "INCR", "n"))
		popped := make(chan any, 1)
		go func() { popped <- db.Do(ctx, "BLPOP", "list", 0) }()
		require.Eventually(t, func() bool {
			info, _ := redis.As[string](old.Do("INFO", "clients"))
			return strings.Contains(info, "blocked_clients:1")
		}, patience, time.Millisecond)

		require.NoError(t, redis.Err(old.Do("FAILOVER")))
		require.Eventually(t, func() bool {
			role, _ := redis.As[[]any](next.Do("ROLE"))
			return len(role) > 0 && string(asBytes(role[0])) == "master"
		}, patience, time.Millisecond)
		require.NoError(t, redis.Err(db.Do(ctx, cmd, "n")))
		require.True(t, calls(next, strings.ToLower(cmd)))
		require.False(t, calls(old, strings.ToLower(cmd)), "an old value was read")
		require.Equal(t, int64(2*round+2), db.Do(ctx, "INCR", "n"))
		results, err := db.SendTransaction(ctx, []redis.Request{redis.Req("GET", "n")})
		require.NoError(t, err)
		require.Len(t, results, 1)
		require.NoError(t, redis.Err(db.Do(ctx, "RPUSH", "list", "x")))
		require.NoError(t, redis.Err(<-popped))
	}
}

// A transaction and a batch that a demoted master redirects run once, on the new master.
func TestRedirectedBatches(t *testing.T) {
	t.Parallel()
	testbed.Needs(t, testbed.Redirect)
	g := testbed.NewGroup(t, testbed.GroupOptions{Replicas: 1})
	old, next := g.Servers()[0], g.Servers()[1]
	db := redis.SyncCtx{S: redis.WithRetry(newReplicated(t, g.Addrs(), rediscluster.Opts{CheckInterval: time.Hour}), redis.RetryOpts{Within: patience})}
	for i, send := range []func() error{
		func() error {
			_, err := db.SendTransaction(t.Context(), []redis.Request{redis.Req("INCR", "n"), redis.Req("GET", "n")})
			return err
		},
		func() error {
			return redis.FirstError(db.SendMany(t.Context(), []redis.Request{redis.Req("INCR", "n"), redis.Req("GET", "n")}))
		},
	} {
		require.NoError(t, g.WaitReplicas(old))
		require.NoError(t, send())
		require.NoError(t, redis.Err(old.Do("FAILOVER")))
		require.Eventually(t, func() bool {
			role, _ := redis.As[[]any](next.Do("ROLE"))
			return len(role) > 0 && string(asBytes(role[0])) == "master"
		}, patience, time.Millisecond)
		require.NoError(t, send())
		n, err := redis.As[int](next.Do("GET", "n"))
		require.NoError(t, err)
		require.Equal(t, 2*(i+1), n)
		old, next = next, old
	}
}
