package memserver_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest/memserver"
)

func TestServer(t *testing.T) {
	server := memserver.New(t)
	db := connect(t, server.Addr(), 2)
	assert.Equal(t, "OK", db.Do("SET", "k", "v", "EX", 60))
	server.Advance(59 * time.Second)
	assert.Equal(t, []byte("v"), db.Do("GET", "k"))
	server.Advance(2 * time.Second)
	assert.Nil(t, db.Do("GET", "k"))
}

func TestServersAreApart(t *testing.T) {
	one, other := memserver.New(t), memserver.New(t)
	require.NotEqual(t, one.Addr(), other.Addr())
	connect(t, one.Addr(), 2).Do("SET", "k", "v")
	assert.Nil(t, connect(t, other.Addr(), 2).Do("GET", "k"))
}

func TestClose(t *testing.T) {
	server, err := memserver.Start()
	require.NoError(t, err)
	conn, err := redisconn.Connect(t.Context(), server.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}, IOTimeout: time.Minute})
	require.NoError(t, err)
	defer conn.Close()
	server.Close()
	err = redis.AsError(redis.Sync{S: conn}.Do("PING"))
	require.Error(t, err)
	assert.True(t, redis.AsErrorx(err).HasTrait(redis.ErrTraitConnectivity), "%v", err)
}
