package virtualpeers

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	own "github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redisvirtual"
)

// Clients over senders with different prefixes do not see each other's keys.
func TestTenants(t *testing.T) {
	for _, protocol := range []int{2, 3} {
		conn, ctx := connect(t, server.Addr(), redisconn.Opts{Protocol: protocol}), t.Context()
		require.NoError(t, guest(t, conn).FlushAll(ctx).Err())
		tenant := func(prefix string) *redis.Client {
			return guest(t, conn, func(o *redis.Options) { o.Dialer = redisvirtual.Dialer(own.WithPrefix(conn, prefix)) })
		}
		one, two := tenant("t1:"), tenant("t2:")
		for value, rdb := range map[string]*redis.Client{"first": one, "second": two} {
			require.Equal(t, redis.Nil, rdb.Get(ctx, "k").Err())
			require.NoError(t, rdb.Set(ctx, "k", value, 0).Err())
			require.NoError(t, rdb.RPush(ctx, "l", value).Err())
			require.NoError(t, rdb.XAdd(ctx, &redis.XAddArgs{Stream: "s", Values: []string{"f", value}}).Err())
		}
		for value, rdb := range map[string]*redis.Client{"first": one, "second": two} {
			require.Equal(t, value, rdb.Get(ctx, "k").Val())
			require.Equal(t, []any{value, nil}, rdb.MGet(ctx, "k", "none").Val())
			require.ElementsMatch(t, []string{"k", "l", "s"}, rdb.Keys(ctx, "*").Val())
			scanned, _, err := rdb.Scan(ctx, 0, "[kl]", 100).Result()
			require.NoError(t, err)
			require.ElementsMatch(t, []string{"k", "l"}, scanned)
			require.Equal(t, value, rdb.Eval(ctx, "return redis.call('GET', KEYS[1])", []string{"k"}).Val())
			streams, err := rdb.XRead(ctx, &redis.XReadArgs{Streams: []string{"s", "0"}, Block: -1}).Result()
			require.NoError(t, err)
			require.Equal(t, "s", streams[0].Stream)
			require.Equal(t, map[string]any{"f": value}, streams[0].Messages[0].Values)
			require.Equal(t, redis.Nil, rdb.XRead(ctx, &redis.XReadArgs{Streams: []string{"s", "$"}, Block: time.Millisecond}).Err())
			var keys *redis.StringSliceCmd
			_, err = rdb.TxPipelined(ctx, func(p redis.Pipeliner) error {
				p.Append(ctx, "k", "!")
				keys = p.Keys(ctx, "k*")
				return nil
			})
			require.NoError(t, err)
			require.Equal(t, []string{"k"}, keys.Val())
			require.NoError(t, rdb.Watch(ctx, func(tx *redis.Tx) error {
				require.Equal(t, value+"!", tx.Get(ctx, "k").Val())
				_, err := tx.TxPipelined(ctx, func(p redis.Pipeliner) error { return p.Del(ctx, "k").Err() })
				return err
			}, "k"))
			require.Equal(t, []string{"l", value}, rdb.BLPop(ctx, 0, "none", "l").Val())
			require.ErrorContains(t, rdb.FlushAll(ctx).Err(), "WithPrefix")
			_, err = rdb.Subscribe(ctx, "c").Receive(ctx)
			require.ErrorContains(t, err, "needs a socket of its own")
		}
		require.ElementsMatch(t, []string{"t1:s", "t2:s"}, guest(t, conn).Keys(ctx, "*").Val())
	}
}
