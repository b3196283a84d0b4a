package memserver_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscache"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest/memserver"
)

// A cache keeps a value until the server reports its change.
func TestTrack(t *testing.T) {
	for name, told := range map[string][]string{"keys": {"key", "other"}, "all": nil} {
		t.Run(name, func(t *testing.T) {
			server := memserver.New(t)
			invalidate := server.Track()
			conn, err := redisconn.Connect(t.Context(), server.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}, IOTimeout: time.Minute})
			require.NoError(t, err)
			cache, err := rediscache.New(conn, rediscache.Opts{Prefixes: []string{""}, NullAge: time.Minute})
			require.NoError(t, err)
			defer cache.Close()
			require.Eventually(t, func() bool { return cache.Stats().Leases == 1 }, 20*time.Second, time.Millisecond)
			read := func(key string) string {
				var value string
				require.NoError(t, cache.DoInto(t.Context(), &value, "GET", key))
				return value
			}
			set := func(value string) {
				require.NoError(t, server.Miniredis().Set("key", value))
				require.NoError(t, server.Miniredis().Set("kept", value))
			}
			set("old")
			for range 2 {
				require.Equal(t, []string{"old", "old"}, []string{read("key"), read("kept")})
			}
			set("new")
			require.Equal(t, "old", read("key"))
			invalidate(told...)
			require.Eventually(t, func() bool { return read("key") == "new" }, 20*time.Second, time.Millisecond)
			if told != nil {
				require.Equal(t, "old", read("kept"))
			} else {
				require.Equal(t, "new", read("kept"))
			}
		})
	}
}

// Without Track the server refuses CLIENT TRACKING. With Track it reports changes only to
// connections that asked for them.
func TestNotTracked(t *testing.T) {
	server := memserver.New(t)
	db := connect(t, server.Addr(), 3)
	assert.Error(t, redis.Err(db.Do("CLIENT TRACKING", "ON")))
	invalidate := server.Track()
	old := connect(t, server.Addr(), 2)
	assert.ErrorContains(t, redis.Err(old.Do("CLIENT TRACKINGINFO", "more")), "unknown subcommand")
	info, err := redis.As[map[string]any](db.Do("CLIENT TRACKINGINFO"))
	require.NoError(t, err)
	flags, err := redis.As[[]string](info["flags"])
	require.NoError(t, err)
	assert.Equal(t, []string{"off"}, flags)
	invalidate("key") // tells nobody
	assert.Equal(t, "PONG", db.Do("PING"))
}
