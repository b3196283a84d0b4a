package redisrecipes_test

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe"
	"github.com/joomcode/redispipe/contrib/redisrecipes/aside"
	"github.com/joomcode/redispipe/contrib/redisrecipes/limit"
	"github.com/joomcode/redispipe/contrib/redisrecipes/lock"
	"github.com/joomcode/redispipe/contrib/redisrecipes/once"
	"github.com/joomcode/redispipe/testbed"
)

// patience bounds waits for a cluster, and is the length of leases that must not expire.
const patience = time.Minute

// keys holds keys of many slots. Some of them look like hash tags.
var keys = []string{"a", "b", "c", "{a}", "{}", "a}b", "{", "{{a}}"}

// All recipes work in a cluster.
func TestCluster(t *testing.T) {
	nodes := testbed.NewCluster(t, testbed.ClusterOptions{Replicas: -1})
	db, err := redispipe.Open(t.Context(), "redis-cluster://"+strings.Join(nodes.Addrs(), ","), redispipe.Logger(nil))
	require.NoError(t, err)
	defer db.Close()
	t.Run("limit", func(t *testing.T) { limitInCluster(t, db) })
	t.Run("lock", func(t *testing.T) { lockInCluster(t, db, nodes, lock.Opts{TTL: patience}) })
	t.Run("fair lock", func(t *testing.T) {
		lockInCluster(t, db, nodes, lock.Opts{TTL: time.Hour, Fair: true, Prefix: "fair:"})
	})
	t.Run("once", func(t *testing.T) { onceInCluster(t, db) })
	t.Run("aside", func(t *testing.T) { asideInCluster(t, db) })
}

// One call of AllowEach takes from keys of all nodes.
func limitInCluster(t *testing.T, db *redispipe.Client) {
	for _, kind := range []limit.Kind{limit.Smooth, limit.Window} {
		limiter, err := limit.New(db, limit.Opts{
			Rate: limit.Rate{Count: 2, Per: time.Hour}, Kind: kind, Prefix: fmt.Sprint(kind, ":"), Timeout: patience,
		})
		require.NoError(t, err)
		var takes []limit.Take
		for _, key := range keys {
			takes = append(takes, limit.Take{Key: key, N: 2}, limit.Take{Key: key, N: 1})
		}
		decisions, err := limiter.AllowEach(t.Context(), takes...)
		require.NoError(t, err)
		for i, d := range decisions {
			require.NoError(t, d.Unavailable)
			require.Equal(t, i%2 == 0, d.Allowed, takes[i])
		}
	}
}

// The slot of a lock moves while one caller holds it and another waits.
func lockInCluster(t *testing.T, db *redispipe.Client, nodes *testbed.Cluster, opts lock.Opts) {
	locker, err := lock.New(db, opts)
	require.NoError(t, err)
	for i, key := range keys {
		first, err := locker.TryLock(t.Context(), key)
		require.NoError(t, err)
		var waits sync.WaitGroup
		waits.Go(func() {
			second, err := locker.Lock(t.Context(), key)
			if err != nil {
				t.Error(err)
				return
			}
			if first.Context().Err() == nil || second.Token() <= first.Token() {
				t.Error(key, first.Context().Err(), first.Token(), second.Token())
			}
			if err := second.Unlock(t.Context()); err != nil {
				t.Error(err)
			}
		})
		if i == 0 {
			slot, err := nodes.Slot(cmp.Or(opts.Prefix, "lock:") + key)
			require.NoError(t, err)
			owner, err := nodes.Owner(slot)
			require.NoError(t, err)
			for _, to := range nodes.Nodes() {
				if to != owner {
					require.NoError(t, nodes.MoveSlot(slot, to))
					break
				}
			}
		}
		require.NoError(t, first.Unlock(t.Context()))
		waits.Wait()
	}
}

// If several callers use the same key at the same time, one function runs, and all get its result.
func onceInCluster(t *testing.T, db *redispipe.Client) {
	runner, err := once.New(db, once.Opts{Lease: patience})
	require.NoError(t, err)
	together(t, func(ctx context.Context, key string, f func(context.Context) ([]byte, error)) ([]byte, error) {
		return runner.Do(ctx, key, time.Hour, f)
	})
}

// If callers of two processes need the same entry at the same time, one of them loads it.
func asideInCluster(t *testing.T, db *redispipe.Client) {
	var caches [2]*aside.Cache
	for i := range caches {
		var err error
		caches[i], err = aside.New(db, aside.Opts{TTL: time.Hour, Lease: patience})
		require.NoError(t, err)
	}
	get := func(ctx context.Context, key string, f func(context.Context) ([]byte, error)) ([]byte, error) {
		value, err := caches[0].Get(ctx, key, f)
		if err != nil {
			return nil, err
		}
		other, err := caches[1].Get(ctx, key, f)
		if string(other) != string(value) {
			t.Error(key, string(value), string(other))
		}
		return value, err
	}
	together(t, get)
	for _, key := range keys {
		require.NoError(t, caches[0].Delete(t.Context(), key))
	}
	together(t, get)
}

// together makes two calls for each key at once, and checks that one runs its function.
func together(t *testing.T, do func(context.Context, string, func(context.Context) ([]byte, error)) ([]byte, error)) {
	t.Helper()
	var callers sync.WaitGroup
	for _, key := range keys {
		var run sync.Once
		for range 2 {
			callers.Go(func() {
				value, err := do(t.Context(), key, func(context.Context) ([]byte, error) {
					first := false
					run.Do(func() { first = true })
					return fmt.Append(nil, key, first), nil
				})
				if string(value) != fmt.Sprint(key, true) || err != nil {
					t.Error(string(value), err)
				}
			})
		}
	}
	callers.Wait()
}
