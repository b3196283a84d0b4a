package virtualpeers

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redisconn"
)

func TestGoRedis(t *testing.T) {
	for _, protocol := range []int{2, 3} {
		conn := connect(t, server.Addr(), redisconn.Opts{Protocol: protocol})
		rdb := guest(t, conn)
		ctx := context.Background()
		require.NoError(t, rdb.FlushAll(ctx).Err())
		require.NoError(t, rdb.Set(ctx, "k", "v", 0).Err())
		require.Equal(t, "v", rdb.Get(ctx, "k").Val())
		require.Equal(t, redis.Nil, rdb.Get(ctx, "none").Err())
		require.NoError(t, rdb.HSet(ctx, "h", "a", 1, "b", 2).Err())
		require.Equal(t, map[string]string{"a": "1", "b": "2"}, rdb.HGetAll(ctx, "h").Val())
		got, err := rdb.TxPipelined(ctx, func(p redis.Pipeliner) error {
			p.Incr(ctx, "n")
			p.Get(ctx, "k")
			return nil
		})
		require.NoError(t, err)
		require.Len(t, got, 2)
		require.NoError(t, rdb.Watch(ctx, func(tx *redis.Tx) error {
			_, err := tx.TxPipelined(ctx, func(p redis.Pipeliner) error { return p.Set(ctx, "k", "w", 0).Err() })
			return err
		}, "k"))
		require.Equal(t, redis.TxFailedErr, rdb.Watch(ctx, func(tx *redis.Tx) error {
			require.NoError(t, rdb.Set(ctx, "k", "other", 0).Err())
			_, err := tx.TxPipelined(ctx, func(p redis.Pipeliner) error { return p.Set(ctx, "k", "w", 0).Err() })
			return err
		}, "k"))
		require.Equal(t, redis.Nil, rdb.BLPop(ctx, 10*time.Millisecond, "list").Err())
		go func() { rdb.RPush(ctx, "list", "x") }()
		require.Equal(t, []string{"list", "x"}, rdb.BLPop(ctx, time.Minute, "list").Val())
		sub := rdb.Subscribe(ctx, "chan")
		_, err = sub.Receive(ctx)
		require.NoError(t, err)
		require.Equal(t, int64(1), rdb.Publish(ctx, "chan", "hello").Val())
		msg, err := sub.ReceiveMessage(ctx)
		require.NoError(t, err)
		require.Equal(t, "hello", msg.Payload)
		require.NoError(t, sub.Close())
		_, err = rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
			for range 2000 {
				p.Incr(ctx, "many")
			}
			return nil
		})
		require.NoError(t, err)
		require.Equal(t, "2000", rdb.Get(ctx, "many").Val())
	}
}
