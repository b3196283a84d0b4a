package redisfailover_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscache"
	"github.com/joomcode/redispipe/redisfailover"
	"github.com/joomcode/redispipe/redispubsub"
	"github.com/joomcode/redispipe/redistest"
	"github.com/joomcode/redispipe/redistest/memserver"
)

// next returns the next event.
func next(t *testing.T, sub *redispubsub.Subscription) redispubsub.Event {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for ev, err := range sub.Events(ctx) {
		require.NoError(t, err)
		return ev
	}
	return nil
}

// Subscriptions move to each new active member, no matter what kind of sender it is, and get a gap.
func TestSubscriberFollows(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	near, far := memserver.New(t), memserver.New(t)
	client, err := redispipe.Open(ctx, "redis://"+near.Addr()+"?read_timeout=60s", redispipe.Logger(nil))
	require.NoError(t, err)
	cache, err := rediscache.New(client, rediscache.Opts{Prefixes: []string{""}})
	require.NoError(t, err)
	mock := redistest.NewMock(t)
	mock.Expect("PING").Reply("PONG")
	db, err := redisfailover.Open(ctx, []redisfailover.Member{
		{Name: "near", Sender: redis.WithHook(cache, silent{}), Weight: 2}, {Name: "foreign", Sender: mock, Weight: 1},
		{Name: "far", URL: "redis://" + far.Addr() + "?read_timeout=60s", Options: []redispipe.Option{redispipe.Logger(nil)}},
	}, redisfailover.Opts{Patience: time.Hour, Logger: redisfailover.NoopLogger{}})
	require.NoError(t, err)
	defer db.Close()
	sub := db.NewSubscriber(redispubsub.Opts{Logger: redispubsub.NoopLogger{}}).NewSubscription(redispubsub.SubscriptionOpts{})
	require.NoError(t, sub.Subscribe(ctx, redispubsub.Channel("news")))
	message := func(text string) {
		require.NoError(t, redis.Err(db.Do(ctx, "PUBLISH", "news", text)))
		msg, is := next(t, sub).(redispubsub.Message)
		require.True(t, is)
		require.Equal(t, text, string(msg.Payload))
	}
	message("from near")
	for _, to := range []string{"far", "near"} {
		if to == "near" { // first shift to a member that is no Sender of this library
			require.NoError(t, db.SwitchTo("foreign"))
		}
		shifted := time.Now()
		require.NoError(t, db.SwitchTo(to))
		gap, is := next(t, sub).(redispubsub.Gap)
		for is && gap.Open() {
			gap, is = next(t, sub).(redispubsub.Gap)
		}
		require.True(t, is)
		require.Equal(t, redispubsub.Failover, gap.Reason)
		require.True(t, gap.From.Before(shifted))
		require.True(t, gap.To.After(shifted))
		message("from " + to)
	}
	db.Close()
	for ev, err := range sub.Events(ctx) {
		if err == nil { // a gap, because the socket was closed first
			require.IsType(t, redispubsub.Gap{}, ev)
			continue
		}
		require.True(t, redis.AsErrorx(err).IsOfType(redispubsub.ErrClosed), "%v", err)
	}
}

// silent is a hook that does nothing.
type silent struct{}

func (silent) Before(ctx context.Context, _ redis.Operation) context.Context { return ctx }
func (silent) After(context.Context, redis.Operation, redis.Completion)      {}
