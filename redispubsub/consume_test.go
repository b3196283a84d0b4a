package redispubsub_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redispubsub"
	"github.com/joomcode/redispipe/testbed"
)

func TestOneConsumerAtATime(t *testing.T) {
	conn := connect(t, testbed.NewServer(t).Addr(), redisconn.Opts{})
	sub := newSubscriber(t, conn).NewSubscription(redispubsub.SubscriptionOpts{})
	require.NoError(t, sub.Subscribe(withPatience(t), redispubsub.Channel("a")))
	ctx, cancel := context.WithCancel(t.Context())
	events := sub.Chan(ctx)
	publish(t, conn, "PUBLISH", "a", "1")
	<-events
	for _, err := range sub.Events(ctx) {
		requireType(t, redispubsub.ErrConsumed, err)
	}
	cancel()
	_, more := <-events
	assert.False(t, more)
	publish(t, conn, "PUBLISH", "a", "2")
	assert.Equal(t, "2", string(take(t, sub, 1)[0].(redispubsub.Message).Payload), "the next one goes on")
}

// A loop whose context has ended leaves the next event to the loop that follows.
func TestEventsGoOnInAnotherLoop(t *testing.T) {
	conn := connect(t, testbed.NewServer(t).Addr(), redisconn.Opts{})
	sub := newSubscriber(t, conn).NewSubscription(redispubsub.SubscriptionOpts{})
	require.NoError(t, sub.Subscribe(withPatience(t), redispubsub.Channel("a")))
	const messages = 10
	for n := range messages {
		publish(t, conn, "PUBLISH", "a", fmt.Sprint(n))
	}
	for got := 0; got < messages; {
		ctx, cancel := context.WithCancel(withPatience(t))
		for ev, err := range sub.Events(ctx) {
			if err != nil {
				require.ErrorIs(t, err, context.Canceled)
				break
			}
			require.Equal(t, fmt.Sprint(got), payload(t, ev))
			got++
			cancel()
		}
		cancel()
	}
}

// If the context of a channel ends, an event that nobody has received goes to the next consumer.
func TestChanLeavesAnEvent(t *testing.T) {
	conn := connect(t, testbed.NewServer(t).Addr(), redisconn.Opts{})
	sub := newSubscriber(t, conn).NewSubscription(redispubsub.SubscriptionOpts{})
	require.NoError(t, sub.Subscribe(withPatience(t), redispubsub.Channel("a")))
	for n := range 3 {
		publish(t, conn, "PUBLISH", "a", fmt.Sprint(n))
	}
	ctx, cancel := context.WithCancel(t.Context())
	ch := sub.Chan(ctx)
	require.Equal(t, "0", payload(t, <-ch))
	require.Eventually(t, inChan, patience, time.Millisecond, "the next one is to be sent")
	cancel()
	require.Eventually(t, func() bool { return !inChan() }, patience, time.Millisecond)
	_, more := <-ch
	require.False(t, more)
	for i, ev := range take(t, sub, 2) {
		require.Equal(t, fmt.Sprint(i+1), payload(t, ev))
	}
}

// Chan ends with Close, even if no goroutine receives its pending event.
func TestChanEndsWithClose(t *testing.T) {
	conn := connect(t, testbed.NewServer(t).Addr(), redisconn.Opts{})
	sub := newSubscriber(t, conn).NewSubscription(redispubsub.SubscriptionOpts{})
	require.NoError(t, sub.Subscribe(withPatience(t), redispubsub.Channel("a")))
	ch := sub.Chan(context.Background())
	for range 3 {
		publish(t, conn, "PUBLISH", "a", "1")
	}
	<-ch
	require.Eventually(t, inChan, patience, time.Millisecond, "the next one is to be sent")
	sub.Close()
	require.Eventually(t, func() bool { return !inChan() }, patience, time.Millisecond, "the goroutine ends")
}

// inChan reports whether a goroutine of Subscription.Chan waits for a receiver.
func inChan() bool {
	stacks := make([]byte, 1<<20)
	for _, stack := range strings.Split(string(stacks[:runtime.Stack(stacks, true)]), "\n\n") {
		if strings.Contains(stack, "redispubsub.(*Subscription).Chan.") && strings.Contains(stack, "[select") {
			return true
		}
	}
	return false
}
