package redisreply_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisreply"
)

func TestLiveRole(t *testing.T) {
	inBoth(t, nil, func(t *testing.T, db redis.Sync) {
		role, err := redis.As[redisreply.Role](db.Do("ROLE"))
		require.NoError(t, err)
		require.Equal(t, redisreply.Role{Name: "master", Replicas: []redisreply.Replica{}}, role)

		require.Equal(t, "OK", db.Do("REPLICAOF", "127.0.0.1", 1))
		role, err = redis.As[redisreply.Role](db.Do("ROLE"))
		require.NoError(t, err)
		require.NotEmpty(t, role.State)
		role.State = ""
		require.Equal(t, redisreply.Role{Name: "slave", Host: "127.0.0.1", Port: 1, Offset: -1}, role)
		require.Equal(t, "OK", db.Do("REPLICAOF", "NO", "ONE"))
	})
}

func TestRole(t *testing.T) {
	role, err := redis.As[redisreply.Role]([]any{"master", int64(7), []any{[]any{[]byte("10.0.0.1"), []byte("6379"), []byte("5")}}})
	require.NoError(t, err)
	require.Equal(t, redisreply.Role{Name: "master", Offset: 7, Replicas: []redisreply.Replica{{Host: "10.0.0.1", Port: 6379, Offset: 5}}}, role)
	role, err = redis.As[redisreply.Role]([]any{"sentinel", []any{[]byte("main")}})
	require.NoError(t, err)
	require.Equal(t, redisreply.Role{Name: "sentinel", Masters: []string{"main"}}, role)
	for _, res := range []any{[]any{}, []any{"master"}, []any{"judge", int64(1)}, []any{int64(1), nil, nil}} {
		_, err = redis.As[redisreply.Role](res)
		require.True(t, redis.AsErrorx(err).IsOfType(redis.ErrResponseUnexpected) || redis.AsErrorx(err).IsOfType(redis.ErrResponseNil), "%v", err)
	}
}
