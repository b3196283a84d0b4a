package redisprom

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redispubsub"
	"github.com/joomcode/redispipe/testbed"
)

func newSubscriber(t *testing.T, hooks ...redis.Hook) (*testbed.Server, *redisconn.Connection, *redispubsub.Subscriber) {
	t.Helper()
	server := testbed.NewServer(t)
	conn, err := redisconn.Connect(context.Background(), server.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}})
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	s, err := redispubsub.New(conn, redispubsub.Opts{Logger: redispubsub.NoopLogger{}, Hooks: hooks})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return server, conn, s
}

func TestSubscribers(t *testing.T) {
	hook := NewHook(nil)
	server, conn, s := newSubscriber(t, hook)
	_, _, other := newSubscriber(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	sub := s.NewSubscription(redispubsub.SubscriptionOpts{MaxMessages: 1})
	require.NoError(t, sub.Subscribe(ctx, redispubsub.Channel("a"), redispubsub.Channel("b")))
	require.NoError(t, other.NewSubscription(redispubsub.SubscriptionOpts{}).Subscribe(ctx, redispubsub.Channel("a")))
	for range 3 {
		require.NoError(t, redis.AsError(redis.Sync{S: conn}.Do("PUBLISH", "a", "x")))
	}
	require.Eventually(t, func() bool { return s.Stats().Dropped == 2 }, time.Minute, time.Millisecond)
	server.Do("CLIENT KILL", "TYPE", "pubsub")
	require.Eventually(t, func() bool {
		stats := s.Stats()
		return stats.ConnectionLost == 2 && stats.OpenGaps == 0
	}, time.Minute, time.Millisecond)

	collector := NewSubscriberCollector(s, other)
	require.NoError(t, testutil.CollectAndCompare(collector, strings.NewReader(`
# HELP redispipe_subscriber_messages_total Messages that sockets have received.
# TYPE redispipe_subscriber_messages_total counter
redispipe_subscriber_messages_total 3
# HELP redispipe_subscriber_sockets Sockets to nodes with topics.
# TYPE redispipe_subscriber_sockets gauge
redispipe_subscriber_sockets{state="connected"} 2
redispipe_subscriber_sockets{state="connecting"} 0
redispipe_subscriber_sockets{state="down"} 0
# HELP redispipe_subscription_dropped_messages_total Messages that did not fit into the buffer of a subscription.
# TYPE redispipe_subscription_dropped_messages_total counter
redispipe_subscription_dropped_messages_total 2
# HELP redispipe_subscription_gaps_total Gaps that have begun, for each topic of each subscription.
# TYPE redispipe_subscription_gaps_total counter
redispipe_subscription_gaps_total{reason="connection_lost"} 2
redispipe_subscription_gaps_total{reason="failover"} 0
redispipe_subscription_gaps_total{reason="slot_moved"} 0
# HELP redispipe_subscription_open_gaps Gaps that have not ended.
# TYPE redispipe_subscription_open_gaps gauge
redispipe_subscription_open_gaps 0
# HELP redispipe_subscription_topics Topics by state: subscribed, waiting for a node's confirmation, or without a node.
# TYPE redispipe_subscription_topics gauge
redispipe_subscription_topics{state="subscribed"} 3
redispipe_subscription_topics{state="unplaced"} 0
redispipe_subscription_topics{state="waiting"} 0
# HELP redispipe_subscriptions Subscriptions that are not closed.
# TYPE redispipe_subscriptions gauge
redispipe_subscriptions 2
`), "redispipe_subscriber_messages_total", "redispipe_subscriber_sockets", "redispipe_subscription_dropped_messages_total",
		"redispipe_subscription_gaps_total", "redispipe_subscription_open_gaps", "redispipe_subscription_topics", "redispipe_subscriptions"))
	require.NoError(t, testutil.CollectAndCompare(hook, strings.NewReader(strings.ReplaceAll(`
# HELP redispipe_operation_requests_total Requests of operations that have ended.
# TYPE redispipe_operation_requests_total counter
redispipe_operation_requests_total{command="subscribe",node="NODE",outcome="value"} 2
`, "NODE", server.Addr())), "redispipe_operation_requests_total"))
	names(t, collector)
}
