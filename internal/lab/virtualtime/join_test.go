package virtualtime

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redispubsub"
	"github.com/joomcode/redispipe/redistest/chaos"
)

// eachJoin runs a test in which a subscription is subscribing a channel, and the server has not
// answered.
func eachJoin(t *testing.T, test func(t *testing.T, o *owner, sub *redispubsub.Subscription, cancel context.CancelFunc, done chan error)) {
	eachProtocol(t, func(t *testing.T, protocol int) {
		o := newOwner(t, protocol, time.Hour)
		s, err := redispubsub.New(o.conn, redispubsub.Opts{Logger: redispubsub.NoopLogger{}})
		require.NoError(t, err)
		t.Cleanup(s.Close)
		sub := s.NewSubscription(redispubsub.SubscriptionOpts{})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		done := make(chan error, 1)
		go func() { done <- sub.Subscribe(ctx, redispubsub.Sharded("a")) }()
		o.expects("SSUBSCRIBE")
		test(t, o, sub, cancel, done)
	})
}

// delivers makes the server send a message of the channel, and waits until the message arrives.
func delivers(t *testing.T, o *owner, sub *redispubsub.Subscription) {
	t.Helper()
	o.publishes("1")
	assert.Equal(t, "1", payload(t, sub))
}

// joins subscribes the channel and another one. It returns when both are wanted; done receives the
// result.
func joins(t *testing.T, sub *redispubsub.Subscription) (done chan error) {
	t.Helper()
	done = make(chan error, 1)
	go func() { done <- sub.Subscribe(t.Context(), redispubsub.Sharded("a"), redispubsub.Sharded("b")) }()
	synctest.Wait()
	require.Len(t, sub.Topics(), 2)
	return done
}

// takesOther confirms the subscription of the other channel.
func takesOther(o *owner) {
	o.t.Helper()
	o.expects("SSUBSCRIBE")
	o.answer(strings.Replace(o.push("ssubscribe", ":2\r\n"), chaos.ScriptedBulk("a"), chaos.ScriptedBulk("b"), 1))
}

// A caller that asks for a topic waits if another goroutine is subscribing it. If the caller gives
// up, the other goroutine still gets the topic.
func TestASecondSubscribeWaits(t *testing.T) {
	eachJoin(t, func(t *testing.T, o *owner, sub *redispubsub.Subscription, _ context.CancelFunc, done chan error) {
		soon, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		require.ErrorIs(t, sub.Subscribe(soon, redispubsub.Sharded("a")), context.DeadlineExceeded)
		require.Len(t, sub.Topics(), 1)
		o.answer(o.push("ssubscribe", ":1\r\n"))
		require.NoError(t, <-done)
		require.NoError(t, sub.Subscribe(t.Context(), redispubsub.Sharded("a")), "it is subscribed")
		delivers(t, o, sub)
	})
}

// If the first caller gives up, the second one keeps the topic.
func TestTheFirstSubscribeGivesUp(t *testing.T) {
	eachJoin(t, func(t *testing.T, o *owner, sub *redispubsub.Subscription, cancel context.CancelFunc, done chan error) {
		second := joins(t, sub)
		cancel()
		require.ErrorIs(t, <-done, context.Canceled)
		o.answer(o.push("ssubscribe", ":1\r\n"))
		takesOther(o)
		require.NoError(t, <-second)
		require.Len(t, sub.Topics(), 2)
		delivers(t, o, sub)
	})
}

// If a topic is refused, every caller that waits for it gets the refusal.
func TestASecondSubscribeIsRefused(t *testing.T) {
	eachJoin(t, func(t *testing.T, o *owner, sub *redispubsub.Subscription, _ context.CancelFunc, done chan error) {
		second := joins(t, sub)
		o.answer("-NOPERM no\r\n")
		takesOther(o)
		for _, done := range []chan error{done, second} {
			var refused *redispubsub.SubscribeError
			require.ErrorAs(t, <-done, &refused)
			assert.Equal(t, []redispubsub.Topic{redispubsub.Sharded("a")}, refused.Topics)
			require.True(t, redis.AsErrorx(refused.Errors[0]).IsOfType(redispubsub.ErrRefused))
		}
	})
}
