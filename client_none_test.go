package redispipe_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscache"
	"github.com/joomcode/redispipe/redismirror"
	"github.com/joomcode/redispipe/redispubsub"
)

// All methods of the nil pointers that constructors return with an error fail, or do nothing.
func TestNoneOpened(t *testing.T) {
	ctx := t.Context()
	for name, s := range map[string]redis.Sender{
		"client": (*redispipe.Client)(nil), "unopened client": &redispipe.Client{}, "cache": (*rediscache.Cache)(nil),
		"mirror": (*redismirror.Mirror)(nil),
	} {
		reqs := []redis.Request{redis.Req("GET", "key"), redis.Req("GET", "key")}
		var errs []error
		failed := redis.FuncFuture(func(res any, n uint64) {
			assert.EqualValues(t, len(errs), n, name)
			errs = append(errs, redis.Err(res))
		})
		s.Send(reqs[0], failed, 0)
		s.SendMany(reqs, failed, 1)
		s.SendTransaction(reqs, failed, 3)
		s.Scanner(redis.ScanOpts{}).Next(redis.FuncFuture(func(res any, _ uint64) { errs = append(errs, redis.Err(res)) }))
		s.EachShard(func(shard redis.Sender, err error) bool {
			assert.Nil(t, shard, name)
			errs = append(errs, redis.Err(err))
			return true
		})
		require.Len(t, errs, 6, name)
		for _, err := range errs {
			require.ErrorContains(t, err, "the sender is nil", name)
			require.ErrorIs(t, err, redis.ErrNotSent, name)
		}
		s.Close()
	}

	var cache *rediscache.Cache
	cache.Invalidate("key")
	cache.InvalidateAll()
	require.Error(t, cache.WithMaxAge(time.Second).DoInto(ctx, new(string), "GET", "key"))
	require.Zero(t, cache.Stats())
	require.NoError(t, cache.Shutdown(ctx))

	var mirror *redismirror.Mirror
	_, err := mirror.Copy(ctx, redis.ScanOpts{})
	require.ErrorContains(t, err, "the sender is nil")
	_, err = mirror.Repair(ctx)
	require.ErrorContains(t, err, "the sender is nil")
	require.ErrorContains(t, mirror.CutOver(ctx, 1), "the sender is nil")
	require.Empty(t, mirror.Findings())
	require.Zero(t, mirror.Stats())

	for _, c := range []*redispipe.Client{nil, {}} {
		subscriber := c.Subscriber()
		require.Zero(t, subscriber.Stats())
		sub := subscriber.NewSubscription(redispubsub.SubscriptionOpts{})
		err := sub.Subscribe(ctx, redispubsub.Channel("news"))
		require.ErrorContains(t, err, "the sender is nil")
		require.ErrorIs(t, err, redis.ErrNotSent)
		require.NoError(t, sub.Unsubscribe(ctx, redispubsub.Channel("news")))
		require.Empty(t, sub.Topics())
		requireClosed(t, sub, nil)
		sub.Close()
		subscriber.Close()
	}
}
