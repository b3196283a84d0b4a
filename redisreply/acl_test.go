package redisreply_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redisreply"
)

func TestLiveACL(t *testing.T) {
	inBoth(t, nil, func(t *testing.T, db redis.Sync) {
		require.Equal(t, "OK", db.Do("ACL SETUSER", "ann", "reset", "on", ">x", "~a*", "~b*", "&news", "+get", "(+set ~c*)"))
		var ann, none *redisreply.User
		require.NoError(t, db.DoInto(&ann, "ACL GETUSER", "ann"))
		require.Contains(t, ann.Flags, "on")
		require.Equal(t, []string{"2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"}, ann.Passwords)
		require.Equal(t, "-@all +get", ann.Commands)
		require.Equal(t, redisreply.Patterns{"~a*", "~b*"}, ann.Keys)
		require.Equal(t, redisreply.Patterns{"&news"}, ann.Channels)
		require.Len(t, ann.Selectors, 1)
		require.Equal(t, "-@all +set", ann.Selectors[0].Commands)
		require.Equal(t, redisreply.Patterns{"~c*"}, ann.Selectors[0].Keys)
		require.NoError(t, db.DoInto(&none, "ACL GETUSER", "nobody"))
		require.Nil(t, none)

		require.Equal(t, "OK", db.Do("ACL LOG", "RESET"))
		require.Equal(t, "OK", db.Do("ACL SETUSER", "bob", "reset", "on", "nopass", "+@all", "~bob:*"))
		bob, err := redisconn.Connect(t.Context(), db.S.(*redisconn.Connection).Addr(),
			redisconn.Opts{Username: "bob", Password: "any", IOTimeout: time.Minute, Logger: redisconn.NoopLogger{}})
		require.NoError(t, err)
		defer bob.Close()
		require.ErrorContains(t, redis.Err(redis.Sync{S: bob}.Do("GET", "ann:1")), "NOPERM")
		var denied []redisreply.Denial
		require.NoError(t, db.DoInto(&denied, "ACL LOG"))
		require.Len(t, denied, 1)
		require.Len(t, denied[0].Client, 1)
		require.Positive(t, denied[0].Client[0].ID)
		require.Less(t, denied[0].Age, 3600.)
		require.Equal(t, []any{int64(1), "key", "toplevel", "ann:1", "bob"},
			[]any{denied[0].Count, denied[0].Reason, denied[0].Context, denied[0].Object, denied[0].User})
	})
}

// Redis 6.2 returns patterns as a list.
func TestPatterns(t *testing.T) {
	user, err := redis.As[redisreply.User]([]any{"flags", []any{"on"}, "passwords", []any{}, "commands", "-@all",
		"keys", []any{[]byte("a*"), []byte("b*")}, "channels", []any{}})
	require.NoError(t, err)
	require.Equal(t, redisreply.Rules{Commands: "-@all", Keys: redisreply.Patterns{"a*", "b*"}, Channels: redisreply.Patterns{}}, user.Rules)
}
