package main

import (
	"context"
	"os"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redisvirtual"
	"github.com/joomcode/redispipe/testbed"
)

func TestMain(m *testing.M) {
	testbed.RequireRedis()
	os.Exit(m.Run())
}

// All tasks complete, and no goroutine is left. With virtual connections only blocking commands and
// subscriptions use other sockets.
func TestShow(t *testing.T) {
	server, err := testbed.Start(testbed.Options{})
	require.NoError(t, err)
	defer server.Close()
	ctx := context.Background()
	require.NoError(t, run(ctx, server.Addr(), "", 100))

	shared, err := redisconn.Connect(ctx, server.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}})
	require.NoError(t, err)
	defer shared.Close()
	f, err := measure(ctx, &redis.Options{Addr: server.Addr(), PoolSize: pool, Dialer: redisvirtual.Dialer(shared)}, shared, 200)
	require.NoError(t, err)
	require.Equal(t, int64(200), f.tasks)
	require.Positive(t, f.beside)
	require.Zero(t, f.failed)
	require.Less(t, f.sockets, 4)
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer func() { _ = rdb.Close() }()
	left, err := rdb.Keys(ctx, "quickstart:*").Result()
	require.NoError(t, err)
	require.Empty(t, left)
}
