package rediscache

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/testbed"
)

// Replies that were read as one user are no longer served when the user of the connection has changed.
func TestAnotherUser(t *testing.T) {
	t.Parallel()
	server := testbed.NewServer(t)
	admin := redis.SyncCtx{S: connect(t, server.Addr(), redisconn.Opts{})}
	must(t, admin.Do(t.Context(), "ACL SETUSER", "may", "on", ">p", "~*", "+@all"))
	must(t, admin.Do(t.Context(), "ACL SETUSER", "maynot", "on", ">p", "~public:*", "+@all"))
	must(t, admin.Do(t.Context(), "SET", "secret", "value"))
	var user atomic.Value
	user.Store("may")
	conn := connect(t, server.Addr(), redisconn.Opts{
		IOTimeout: time.Minute,
		CredentialsProvider: func(context.Context) (redisconn.Credentials, error) {
			return redisconn.Credentials{Username: user.Load().(string), Password: "p"}, nil
		},
	})
	c := cacheOf(t, conn, all)
	awaitLeases(t, c)
	get(t, c, "secret")
	require.True(t, kept(t, c, "GET", "secret"))

	require.NoError(t, conn.Reauthenticate(t.Context())) // as the same user
	get(t, c, "secret")
	require.True(t, kept(t, c, "GET", "secret"))

	user.Store("maynot")
	require.NoError(t, conn.Reauthenticate(t.Context()))
	require.False(t, kept(t, c, "GET", "secret"))
	for range 2 {
		err := redis.AsErrorx(c.Do(t.Context(), "GET", "secret"))
		require.NotNil(t, err)
		assert.Contains(t, err.Message(), "NOPERM")
		awaitLeases(t, c)
	}
}

// Caches of two databases share nothing.
func TestDatabases(t *testing.T) {
	t.Parallel()
	server := testbed.NewServer(t)
	for db := range 2 {
		c := cacheOf(t, connect(t, server.Addr(), redisconn.Opts{DB: db, IOTimeout: time.Minute}), all)
		awaitLeases(t, c)
		for range 2 {
			require.Nil(t, get(t, c, "key"))
		}
		must(t, c.Do(t.Context(), "SET", "key", db))
		for range 2 {
			require.Equal(t, []byte{'0' + byte(db)}, get(t, c, "key"))
		}
	}
}

// The shared connection does not track keys, and a connection without a cache sends no commands for
// tracking.
func TestDataSocketDoesNotTrack(t *testing.T) {
	t.Parallel()
	testbed.Needs(t, testbed.Version(7, 0)) // from this version on, the statistics count subcommands
	r := newRig(t, all)
	for range 2 {
		get(t, r.cache, "key")
		must(t, r.cache.Do(t.Context(), "SET", "key", "value"))
	}
	list, err := redis.As[string](r.other.Do(t.Context(), "CLIENT LIST"))
	require.NoError(t, err)
	tracking := 0
	for _, line := range strings.Split(strings.TrimSpace(list), "\n") {
		f := fields(line)
		if strings.Contains(f["flags"], "t") {
			tracking++
			assert.NotContains(t, r.cache.core.nodes.local(), f["addr"])
		}
	}
	assert.Equal(t, 1, tracking)
	assert.Equal(t, "1", calls(t, r.other, "client|tracking"))
	assert.Equal(t, "2", calls(t, r.other, "set"))
}

// If the user lacks the permission for CLIENT TRACKING, the cache forwards all reads.
func TestNoPermission(t *testing.T) {
	t.Parallel()
	testbed.Needs(t, testbed.Version(7, 0)) // for ACL rules about subcommands
	server := testbed.NewServer(t)
	admin := redis.SyncCtx{S: connect(t, server.Addr(), redisconn.Opts{})}
	must(t, admin.Do(t.Context(), "ACL SETUSER", "user", "on", ">p", "~*", "+@all", "-client|tracking"))
	must(t, admin.Do(t.Context(), "SET", "key", "value"))
	c := cacheOf(t, connect(t, server.Addr(), redisconn.Opts{Username: "user", Password: "p"}), all)
	for range 3 {
		require.Equal(t, []byte("value"), get(t, c, "key"))
	}
	st := c.Stats()
	assert.Zero(t, st.Leases)
	assert.EqualValues(t, 3, st.Passed)
}

// failures is a logger that records why trackers could not be opened.
type failures struct {
	redisconn.NoopLogger
	of chan error
}

func (f failures) Report(_ *redisconn.Connection, event redisconn.LogEvent) {
	if failed, ok := event.(redisconn.LogTrackingFailed); ok {
		select {
		case f.of <- failed.Error:
		default:
		}
	}
}

// If the server refuses CLIENT TRACKING, the cache forwards all reads, and the logger gets the reason.
func TestTrackingRefused(t *testing.T) {
	t.Parallel()
	testbed.Needs(t, testbed.Version(7, 0)) // for ACL rules about subcommands
	server := testbed.NewServer(t)
	admin := redis.SyncCtx{S: connect(t, server.Addr(), redisconn.Opts{})}
	must(t, admin.Do(t.Context(), "ACL SETUSER", "poor", "on", ">p", "~*", "+@all", "-client|tracking"))
	logger := failures{of: make(chan error, 1)}
	c := cacheOf(t, connect(t, server.Addr(), redisconn.Opts{Username: "poor", Password: "p", Logger: logger}), all)
	require.Eventually(t, func() bool { return len(logger.of) > 0 }, patient, time.Millisecond)
	assert.ErrorContains(t, <-logger.of, "NOPERM")
	must(t, c.Do(t.Context(), "SET", "key", 1))
	for range 2 {
		assert.Equal(t, []byte("1"), get(t, c, "key"))
	}
	st := c.Stats()
	assert.Zero(t, st.Hits+st.Misses+int64(st.Leases))
	assert.EqualValues(t, 2, st.Passed)
}
