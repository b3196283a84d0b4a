package redispubsub_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redispubsub"
	"github.com/joomcode/redispipe/redistest/chaos"
	"github.com/joomcode/redispipe/testbed"
)

// If a socket gets no answer within IOTimeout, it is closed, and its commands are sent again over the next
// socket. If no socket gets an answer, Subscribe tries again until its context ends.
func TestSubscribeThroughABlackHole(t *testing.T) {
	t.Parallel()
	eachProtocol(t, func(t *testing.T, protocol int) {
		t.Parallel()
		proxy := chaos.NewProxy(t, testbed.NewServer(t).Addr(), chaos.ProxyOpts{})
		conn := connect(t, proxy.Addr(), redisconn.Opts{Protocol: protocol, IOTimeout: 2 * time.Second})
		sub := newSubscriber(t, conn).NewSubscription(redispubsub.SubscriptionOpts{})
		require.NoError(t, sub.Subscribe(withPatience(t), redispubsub.Channel("a")))
		swallow := chaos.Fault{Do: chaos.Swallow, On: chaos.Replies, At: chaos.Now()}
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

// A subscription that blocks has its own socket, even if other subscriptions have the same topics,
// and these continue without a gap.
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
