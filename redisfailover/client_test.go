package redisfailover

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redispubsub"
)

// A program that ignores the error of Open uses a nil client. All requests of this client fail as not sent, and
// Close does nothing.
func TestNoClient(t *testing.T) {
	ctx := t.Context()
	reqs := []redis.Request{redis.Req("GET", "key")}
	for _, c := range []*Client{nil, {}} {
		_, transacted := c.Transact(ctx, reqs)
		_, watched := c.Watch(ctx, []string{"key"}, func(*redis.Tx) error { return nil })
		_, scanned := redis.SyncCtx{S: c}.Scanner(ctx, redis.ScanOpts{}).Next()
		failed := []any{
			c.Do(ctx, "GET", "key"), c.DoInto(ctx, new(string), "GET", "key"), c.DoMany(ctx, reqs)[0], transacted, watched, scanned,
			c.Session(ctx, "key", func(*redis.Session) error { return nil }), c.SwitchTo("a"),
		}
		keep := redis.FuncFuture(func(res any, _ uint64) { failed = append(failed, res) })
		c.Send(reqs[0], keep, 0)
		c.SendMany(reqs, keep, 0)
		c.SendTransaction(reqs, keep, 0)
		c.Scanner(redis.ScanOpts{}).Next(keep)
		c.EachShard(func(_ redis.Sender, err error) bool {
			failed = append(failed, err)
			return true
		})
		require.Len(t, failed, 13)
		for _, res := range failed {
			require.ErrorContains(t, redis.Err(res), "the sender is nil")
			require.ErrorIs(t, redis.Err(res), redis.ErrNotSent)
		}
		require.Empty(t, c.Members())
		require.Zero(t, c.Stats())
		require.Error(t, c.NewSubscriber(redispubsub.Opts{}).NewSubscription(redispubsub.SubscriptionOpts{}).Subscribe(ctx, redispubsub.Channel("c")))
		require.NoError(t, c.Shutdown(ctx))
		c.Close()
	}
}
