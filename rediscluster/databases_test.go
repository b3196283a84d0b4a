package rediscluster

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/testbed"
)

// connectDB connects to a database of a cluster, by a URL.
func connectDB(t *testing.T, tb *testbed.Cluster, db string) *Cluster {
	t.Helper()
	addrs, opts, err := ParseURL("redis-cluster://" + strings.Join(tb.Addrs(), ",") + "/" + db)
	require.NoError(t, err)
	c, _ := connect(t, addrs, opts)
	return c
}

// Requests, sessions, blocking commands, reads from replicas and scans use the database of the
// cluster, also after slots have moved.
func TestDatabases(t *testing.T) {
	testbed.Needs(t, testbed.ClusterDatabases)
	t.Parallel()
	tb := testbed.NewCluster(t, testbed.ClusterOptions{Options: testbed.Options{Config: []string{"cluster-databases 4"}}})
	zero, one := connectDB(t, tb, "0"), connectDB(t, tb, "1")
	s, z := redis.Sync{S: one}, redis.Sync{S: zero}
	for _, key := range []string{"a", "b", "c", "{t}"} {
		require.Equal(t, "OK", s.Do("SET", key, "of 1"))
		require.Nil(t, z.Do("GET", key))
		require.Equal(t, "OK", z.Do("SET", key, "of 0"))
	}
	await(t, "replicas", func() bool {
		value, _ := redis.Sync{S: one.WithPolicy(PreferSlaves)}.Do("GET", "a").([]byte)
		return string(value) == "of 1"
	})
	require.NoError(t, redis.WithSession(t.Context(), one, "{t}", func(session *redis.Session) error {
		assert.Equal(t, []byte("of 1"), session.Do("GET", "{t}"))
		return nil
	}))
	require.Equal(t, int64(1), s.Do("RPUSH", "{t}list", "x"))
	assert.Equal(t, []any{[]byte("{t}list"), []byte("x")}, s.Do("BLPOP", "{t}list", 0))
	var keys []string
	for key, err := range redis.Keys(t.Context(), one, redis.ScanOpts{}) {
		require.NoError(t, err)
		keys = append(keys, key)
	}
	assert.ElementsMatch(t, []string{"a", "b", "c", "{t}"}, keys)

	slot, from := owner(t, tb, "{t}")
	require.NoError(t, tb.MoveSlotWhole(slot, another(t, tb, from)))
	assert.Equal(t, []byte("of 1"), s.Do("GET", "{t}"))
	assert.Equal(t, []byte("of 0"), z.Do("GET", "{t}"))

	isType(t, redis.ErrResult, s.Do("SWAPDB", 0, 1)) // no server allows it in a cluster
}

// NewCluster fails if the servers do not have the database.
func TestNoSuchDatabase(t *testing.T) {
	tb := sharedMasters.of(t)
	_, err := NewCluster(t.Context(), tb.Addrs(), Opts{Logger: NoopLogger{}, HostOpts: redisconn.Opts{DB: 1, IOTimeout: patience}})
	isType(t, redisconn.ErrInit, err)
	assert.ErrorContains(t, err, "db: 1")
}
