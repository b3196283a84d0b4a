package rediscluster

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/testbed"
)

func TestEachShard(t *testing.T) {
	t.Parallel()
	tb := testbed.NewCluster(t, testbed.ClusterOptions{Replicas: -1})
	c, _ := connect(t, tb.Addrs(), calm)
	ctx := context.Background()
	results := DoEachShard(ctx, c, redis.Req("SCRIPT LOAD", "return 7"))
	require.Len(t, results, 3)
	sha := results[0].([]byte)
	assert.Equal(t, []any{sha, sha, sha}, results)
	for _, key := range []string{"a", "b", "c", "d", "e"} {
		assert.Equal(t, int64(7), redis.Sync{S: c}.Do("EVALSHA", sha, 1, key))
	}
	assert.Equal(t, []any{"OK", "OK", "OK"}, DoEachShard(ctx, c, redis.Req("FLUSHALL")))

	calls := 0
	c.EachShard(func(s redis.Sender, err error) bool {
		calls++
		return false
	})
	assert.Equal(t, 1, calls)

	require.NoError(t, tb.Node(2).Kill())
	await(t, "loss", func() bool { return !c.topology.Load().Find(tb.Node(2).Addr()).Up() })
	await(t, "error", func() bool {
		failed := 0
		for _, res := range DoEachShard(ctx, c, redis.Req("PING")) {
			if redis.AsError(res) != nil {
				failed++
			}
		}
		return failed == 1
	})
	c.Close()
	isType(t, redis.ErrContextClosed, DoEachShard(ctx, c, redis.Req("PING"))[0])
}

func TestDoEachShardOnOneConnection(t *testing.T) {
	results := DoEachShard(t.Context(), nil, redis.Req("PING"))
	require.Len(t, results, 1)
	require.ErrorContains(t, redis.AsError(results[0]), "the sender is nil")
	conn, err := redisconn.Connect(context.Background(), singleServer(t), redisconn.Opts{IOTimeout: time.Minute, Logger: redisconn.NoopLogger{}})
	require.NoError(t, err)
	defer conn.Close()
	assert.Equal(t, []any{"PONG"}, DoEachShard(context.Background(), conn, redis.Req("PING")))
}
