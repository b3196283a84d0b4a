package redispubsub_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redispubsub"
	"github.com/joomcode/redispipe/testbed"
)

// If ten of 1,000 subscriptions stall, the others get all of their messages. The ten learn how many
// messages they have missed.
func TestStalledConsumersHoldUpNobody(t *testing.T) {
	conn := connect(t, testbed.NewServer(t).Addr(), redisconn.Opts{})
	s := newSubscriber(t, conn)
	policies := []redispubsub.Policy{redispubsub.DropOldest, redispubsub.DropNewest, redispubsub.Block, redispubsub.EndWithError}
	const all, stalled, bound, sent = 1000, 10, 8, 50
	topic := redispubsub.Channel("a")
	var subs []*redispubsub.Subscription
	for i := range all {
		opts := redispubsub.SubscriptionOpts{}
		if i < stalled {
			opts = redispubsub.SubscriptionOpts{MaxMessages: bound, Policy: policies[i%len(policies)]}
		}
		sub := s.NewSubscription(opts)
		require.NoError(t, sub.Subscribe(withPatience(t), topic))
		subs = append(subs, sub)
	}
	for n := range sent {
		publish(t, conn, "PUBLISH", "a", fmt.Sprint(n))
	}
	for _, sub := range subs[stalled:] {
		for n, ev := range take(t, sub, sent) {
			require.Equal(t, fmt.Sprint(n), string(ev.(redispubsub.Message).Payload))
		}
	}
	dropped := redispubsub.Gap{Topics: []redispubsub.Topic{topic}, Reason: redispubsub.BufferFull, Dropped: sent - bound}
	for i, sub := range subs[:stalled] {
		switch policies[i%len(policies)] {
		case redispubsub.DropOldest:
			events := take(t, sub, bound+1)
			assertGap(t, dropped, events[0])
			assert.Equal(t, fmt.Sprint(sent-1), string(events[bound].(redispubsub.Message).Payload))
		case redispubsub.DropNewest:
			events := take(t, sub, bound+1)
			assert.Equal(t, "0", string(events[0].(redispubsub.Message).Payload))
			assertGap(t, dropped, events[bound])
		case redispubsub.Block:
			for n, ev := range take(t, sub, sent) {
				require.Equal(t, fmt.Sprint(n), string(ev.(redispubsub.Message).Payload))
			}
		case redispubsub.EndWithError:
			var events []redispubsub.Event
			var last error
			for ev, err := range sub.Events(withPatience(t)) {
				events, last = append(events, ev), err
			}
			requireType(t, redispubsub.ErrBufferFull, last)
			dropped := dropped
			dropped.Dropped = 1
			assertGap(t, dropped, events[bound])
			assert.Len(t, events, bound+2)
			requireType(t, redispubsub.ErrBufferFull, sub.Err())
			assert.Empty(t, sub.Topics())
		}
	}
}

// assertGap compares a gap, except for its times.
func assertGap(t *testing.T, want redispubsub.Gap, ev redispubsub.Event) {
	t.Helper()
	got, ok := ev.(redispubsub.Gap)
	require.True(t, ok, "%v", ev)
	assert.False(t, got.To.Before(got.From))
	want.From, want.To = got.From, got.To
	assert.Equal(t, want, got)
}
