package rediscluster

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
)

func TestPrefixInCluster(t *testing.T) {
	servers := sharedMasters.of(t)
	cluster, _ := connect(t, servers.Addrs(), Opts{})
	ctx := t.Context()
	s, hot := redis.WithHotKeys(redis.WithPrefix(cluster, "t1:"), redis.HotKeysOpts{})
	one, want := redis.SyncCtx{S: s}, []string{}
	require.NoError(t, redis.Err(redis.SyncCtx{S: cluster}.Do(ctx, "SET", "other", 1)))
	for _, key := range []string{"a", "b", "c", "d", "e", "{tag}1", "{tag}2"} {
		require.NoError(t, redis.Err(one.Do(ctx, "SET", key, key)))
		want = append(want, key)
	}
	assert.Equal(t, []any{[]byte("{tag}1"), []byte("{tag}2")}, one.Do(ctx, "MGET", "{tag}1", "{tag}2"))
	_, err := redis.Watch(ctx, s, []string{"b"}, func(tx *redis.Tx) error {
		tx.Queue("APPEND", "b", "+")
		return nil
	})
	require.NoError(t, err)
	require.NoError(t, redis.WithSession(ctx, s, "d", func(s *redis.Session) error { return redis.Err(s.Do("GET", "d")) }))
	var found []string
	for key, err := range redis.Keys(ctx, s, redis.ScanOpts{}) {
		require.NoError(t, err)
		found = append(found, key)
	}
	assert.ElementsMatch(t, want, found)

	slot, err := servers.Slot("t1:a")
	require.NoError(t, err)
	to, err := servers.Owner((slot + 8192) % 16384)
	require.NoError(t, err)
	require.NoError(t, servers.MoveSlot(slot, to))
	assert.Equal(t, []byte("a"), one.Do(ctx, "GET", "a"), "through a redirect")

	gets := slices.Repeat([]redis.Request{redis.Req("GET", "a"), redis.Req("GET", "b")}, 64)
	require.NoError(t, redis.FirstError(one.SendMany(ctx, gets)))
	_, err = one.Transact(ctx, slices.Repeat([]redis.Request{redis.Req("GET", "c")}, 64))
	require.NoError(t, err)
	keys := map[string]bool{}
	for _, k := range hot.Top(10) {
		keys[k.Key] = true
	}
	assert.True(t, keys["c"] && (keys["a"] || keys["b"]), "%v", keys)
	for key := range keys {
		assert.Contains(t, want, key)
	}
}
