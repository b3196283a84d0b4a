package redispubsub_test

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/faulty"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redispubsub"
	"github.com/joomcode/redispipe/testbed"
)

// eachJoin has a subscription subscribe a channel, with a server that has not answered.
func eachJoin(t *testing.T, test func(t *testing.T, o *owner, sub *redispubsub.Subscription, cancel context.CancelFunc, done chan error)) {
	eachProtocol(t, func(t *testing.T, protocol int) {
		o := newOwner(t, protocol)
		sub := newSubscriber(t, o.conn).NewSubscription(redispubsub.SubscriptionOpts{})
		ctx, cancel := context.WithCancel(withPatience(t))
		defer cancel()
		done := make(chan error, 1)
		go func() { done <- sub.Subscribe(ctx, redispubsub.Sharded("a")) }()
		o.expects("SSUBSCRIBE")
		test(t, o, sub, cancel, done)
	})
}

// delivers has the server send a message of the channel, which arrives.
func delivers(t *testing.T, o *owner, sub *redispubsub.Subscription) {
	t.Helper()
	o.publishes("1")
	assert.Equal(t, "1", payload(t, take(t, sub, 1)[0]))
}

// joins subscribes the channel and another one, and returns when both are wanted.
func joins(t *testing.T, sub *redispubsub.Subscription) (done chan error) {
	t.Helper()
	done = make(chan error, 1)
	go func() { done <- sub.Subscribe(withPatience(t), redispubsub.Sharded("a"), redispubsub.Sharded("b")) }()
	require.Eventually(t, func() bool { return len(sub.Topics()) == 2 }, patience, time.Millisecond)
	return done
}

// takesOther confirms the other channel.
func takesOther(o *owner) {
	o.t.Helper()
	o.expects("SSUBSCRIBE")
	o.answer(strings.Replace(o.push("ssubscribe", ":2\r\n"), faulty.ScriptedBulk("a"), faulty.ScriptedBulk("b"), 1))
}

// Who asks for a topic that another goroutine is subscribing waits for it, too, and takes
// nothing away when it gives up.
func TestASecondSubscribeWaits(t *testing.T) {
	eachJoin(t, func(t *testing.T, o *owner, sub *redispubsub.Subscription, _ context.CancelFunc, done chan error) {
		soon, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		require.ErrorIs(t, sub.Subscribe(soon, redispubsub.Sharded("a")), context.DeadlineExceeded)
		require.Len(t, sub.Topics(), 1)
		o.answer(o.push("ssubscribe", ":1\r\n"))
		require.NoError(t, <-done)
		require.NoError(t, sub.Subscribe(withPatience(t), redispubsub.Sharded("a")), "it is subscribed")
		delivers(t, o, sub)
	})
}

// Nor does it lose the topic when the first gives up.
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

// All who wait for a topic are told that it is refused.
func TestASecondSubscribeIsRefused(t *testing.T) {
	eachJoin(t, func(t *testing.T, o *owner, sub *redispubsub.Subscription, _ context.CancelFunc, done chan error) {
		second := joins(t, sub)
		o.answer("-NOPERM no\r\n")
		takesOther(o)
		for _, done := range []chan error{done, second} {
			var refused *redispubsub.SubscribeError
			require.ErrorAs(t, <-done, &refused)
			assert.Equal(t, []redispubsub.Topic{redispubsub.Sharded("a")}, refused.Topics)
			requireType(t, redispubsub.ErrRefused, refused.Errors[0])
		}
	})
}

// A socket that sends and gets no answers is given up within IOTimeout, and what waits for it
// is asked for by the next one. If that gets no answers either, Subscribe goes on until its
// context ends.
func TestSubscribeThroughABlackHole(t *testing.T) {
	t.Parallel()
	eachProtocol(t, func(t *testing.T, protocol int) {
		t.Parallel()
		proxy := faulty.NewProxy(t, testbed.NewServer(t).Addr(), faulty.ProxyOpts{})
		conn := connect(t, proxy.Addr(), redisconn.Opts{Protocol: protocol, IOTimeout: 2 * time.Second})
		sub := newSubscriber(t, conn).NewSubscription(redispubsub.SubscriptionOpts{})
		require.NoError(t, sub.Subscribe(withPatience(t), redispubsub.Channel("a")))
		swallow := faulty.ProxyFault{Do: faulty.ProxySwallow, On: faulty.ProxyReplies, At: faulty.ProxyNow()}
		proxy.Arm(swallow)
		require.NoError(t, sub.Subscribe(withPatience(t), redispubsub.Channel("b")))
		swallow.Times = -1
		proxy.Arm(swallow)
		soon, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		require.ErrorIs(t, sub.Subscribe(soon, redispubsub.Channel("c")), context.DeadlineExceeded)
		healed := make(chan error, 1)
		go func() { healed <- sub.Subscribe(withPatience(t), redispubsub.Channel("c")) }()
		require.Eventually(t, func() bool { return len(sub.Topics()) == 3 }, patience, time.Millisecond)
		proxy.Heal()
		require.NoError(t, <-healed)
	})
}

// A subscription that blocks has a socket to itself, though it shares all of its topics, and
// its neighbours go on without a gap.
func TestBlockHasASocketToItself(t *testing.T) {
	eachProtocol(t, func(t *testing.T, protocol int) {
		conn := connect(t, testbed.NewServer(t).Addr(), redisconn.Opts{Protocol: protocol})
		s := newSubscriber(t, conn)
		blocks := s.NewSubscription(redispubsub.SubscriptionOpts{MaxMessages: 1, Policy: redispubsub.Block})
		other := s.NewSubscription(redispubsub.SubscriptionOpts{})
		for _, sub := range []*redispubsub.Subscription{blocks, other} {
			require.NoError(t, sub.Subscribe(withPatience(t), redispubsub.Channel("a")))
		}
		assert.Len(t, s.Stats().Sockets, 2)
		for n := range 3 {
			publish(t, conn, "PUBLISH", "a", strconv.Itoa(n))
		}
		for n, ev := range take(t, other, 3) {
			assert.Equal(t, strconv.Itoa(n), payload(t, ev))
		}
	})
}
