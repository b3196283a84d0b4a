package rediscache

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/conntest"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/testbed"
)

// patient bounds the waits of these tests. It is long enough for a busy machine.
const patient = time.Minute

// all holds the options of a cache that caches every key for an hour.
var all = Opts{Prefixes: []string{""}, MaxAge: time.Hour, NullAge: time.Hour}

var connect = conntest.Connect

func cacheOf(t testing.TB, s redis.Sender, opts Opts) *Cache {
	t.Helper()
	c, err := New(s, opts)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// awaitLeases waits until all nodes have a lease.
func awaitLeases(t testing.TB, c *Cache) {
	t.Helper()
	require.Eventually(t, func() bool {
		st := c.Stats()
		return st.Nodes > 0 && st.Leases == st.Nodes
	}, patient, time.Millisecond)
}

// rig is a server, a client with a cache, and another client.
type rig struct {
	server *testbed.Server
	cache  *Cache
	other  redis.SyncCtx
}

func newRig(t testing.TB, opts Opts) rig {
	t.Helper()
	server := testbed.NewServer(t)
	r := rig{server: server, cache: cacheOf(t, connect(t, server.Addr(), redisconn.Opts{}), opts)}
	r.other = redis.SyncCtx{S: connect(t, server.Addr(), redisconn.Opts{})}
	awaitLeases(t, r.cache)
	return r
}

func get(t testing.TB, c *Cache, key string) any {
	t.Helper()
	res := c.Do(t.Context(), "GET", key)
	require.NoError(t, redis.AsError(res))
	return res
}

// small holds the options of a cache so small that [makeFull] can fill it.
var small = Opts{Prefixes: []string{""}, MaxAge: time.Hour, NullAge: time.Hour, MaxBytes: leastMaxBytes}

// makeFull reads keys through a cache until it is full.
func makeFull(t testing.TB, c *Cache) {
	t.Helper()
	for i := 0; c.Stats().First == 0; i++ {
		must(t, c.Do(t.Context(), "SET", fmt.Sprint("fill:", i), strings.Repeat("x", leastMaxBytes/50)))
		get(t, c, fmt.Sprint("fill:", i))
	}
}

func must(t testing.TB, res any) any {
	t.Helper()
	require.NoError(t, redis.AsError(res))
	return res
}

// A full cache keeps a reply when its key is read for the second time.
func TestFull(t *testing.T) {
	t.Parallel()
	r := newRig(t, small)
	makeFull(t, r.cache)
	before := r.cache.Stats()
	must(t, r.other.Do(t.Context(), "SET", "key", "1"))
	for i := range 4 {
		require.Equal(t, []byte("1"), get(t, r.cache, "key"))
		require.Equal(t, i > 0, kept(t, r.cache, "GET", "key"))
	}
	st := r.cache.Stats()
	assert.Equal(t, before.First+1, st.First)
	assert.Equal(t, before.Misses+1, st.Misses)
}

// A reply that was read is served from memory until its key changes.
func TestHit(t *testing.T) {
	t.Parallel()
	r := newRig(t, all)
	must(t, r.other.Do(t.Context(), "SET", "key", "1"))
	for range 3 {
		require.Equal(t, []byte("1"), get(t, r.cache, "key"))
	}
	st := r.cache.Stats()
	assert.EqualValues(t, 1, st.Misses)
	assert.EqualValues(t, 2, st.Hits)
	assert.EqualValues(t, 1, st.Entries)

	must(t, r.other.Do(t.Context(), "SET", "key", "2"))
	require.Eventually(t, func() bool { return r.cache.Stats().Dropped.Invalidated == 1 }, patient, time.Millisecond)
	require.Equal(t, []byte("2"), get(t, r.cache, "key"))

	must(t, r.cache.Do(t.Context(), "SET", "key", "3"))
	require.Equal(t, []byte("3"), get(t, r.cache, "key"))
	assert.Zero(t, r.cache.Stats().Passed)
}
