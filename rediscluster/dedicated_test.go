package rediscluster

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/testbed"
)

// awaitBlocked waits until the list's node has somebody who blocks.
func awaitBlocked(t *testing.T, c *Cluster, key string) {
	t.Helper()
	await(t, "a blocked client", func() bool {
		for l := range c.refresher.links() {
			var info string
			if (redis.Sync{S: l.conn}).DoInto(&info, "CLIENT", "LIST") == nil && strings.Contains(info, "flags=b") {
				return true
			}
		}
		return false
	})
}

func TestBlockingInCluster(t *testing.T) {
	tb := sharedCluster(t)
	c, _ := connect(t, tb.Addrs(), Opts{})
	s := redis.Sync{S: c}
	done := make(chan any, 1)
	go func() { done <- s.Do("BLPOP", "queue", 0) }()
	awaitBlocked(t, c, "queue")
	require.Equal(t, int64(1), s.Do("RPUSH", "queue", "x"))
	require.Equal(t, []any{[]byte("queue"), []byte("x")}, <-done)

	ctx, cancel := context.WithCancel(t.Context())
	go func() { done <- redis.SyncCtx{S: c}.Do(ctx, "BLPOP", "queue", 0) }()
	awaitBlocked(t, c, "queue")
	cancel()
	isType(t, redis.ErrRequestWithdrawn, <-done)
	isType(t, redis.ErrNoSlotKey, s.Do("BLPOP", "a", "b", 0))
	isType(t, redis.ErrArgumentType, s.Do("BLPOP", "a", "soon"))
}

// A command that blocks on a slot which moves goes on where the slot is then.
func TestBlockingFollowsSlot(t *testing.T) {
	tb := testbed.NewCluster(t)
	c, _ := connect(t, tb.Addrs(), Opts{})
	s := redis.Sync{S: c}
	done := make(chan any, 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() { done <- redis.SyncCtx{S: c}.Do(ctx, "BLPOP", "queue", 0) }()
	awaitBlocked(t, c, "queue")
	slot, from := owner(t, tb, "queue")
	require.NoError(t, tb.MoveSlot(slot, another(t, tb, from)))
	awaitBlocked(t, c, "queue")
	require.Equal(t, int64(1), s.Do("RPUSH", "queue", "x"))
	require.Equal(t, []any{[]byte("queue"), []byte("x")}, <-done)

	go func() { done <- redis.SyncCtx{S: c}.Do(ctx, "BLPOP", "queue", 0) }()
	awaitBlocked(t, c, "queue")
	cancel() // the context is known after redirects, too
	isType(t, redis.ErrRequestWithdrawn, <-done)
}

func TestWatchInCluster(t *testing.T) {
	tb := sharedCluster(t)
	c, _ := connect(t, tb.Addrs(), Opts{})
	const workers, rounds = 16, 10
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for range rounds {
				_, err := redis.Watch(context.Background(), c, []string{"{watch}a", "{watch}b"}, func(tx *redis.Tx) error {
					var n int64
					if err := tx.DoInto(&n, "GET", "{watch}a"); err != nil && !redis.AsErrorx(err).IsOfType(redis.ErrResponseNil) {
						return err
					}
					tx.Queue("SET", "{watch}a", n+1)
					return nil
				})
				assert.NoError(t, err)
			}
		})
	}
	wg.Wait()
	var n int64
	require.NoError(t, redis.Sync{S: c}.DoInto(&n, "GET", "{watch}a"))
	require.Equal(t, int64(workers*rounds), n)

	_, err := redis.Watch(t.Context(), c, []string{"a", "b"}, func(*redis.Tx) error { return nil })
	isType(t, redis.ErrNoSlotKey, err)
	_, err = redis.Watch(t.Context(), struct{ *Cluster }{c}, []string{"a"}, func(*redis.Tx) error { return nil })
	isType(t, redis.ErrSession, err)
	_, err = redis.Watch(t.Context(), c.WithPolicy(PreferSlaves), []string{"a"}, func(*redis.Tx) error { return nil })
	require.NoError(t, err)
}
