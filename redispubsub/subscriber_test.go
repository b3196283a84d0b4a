package redispubsub_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/conntest"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redispubsub"
	"github.com/joomcode/redispipe/redistest/chaos"
	"github.com/joomcode/redispipe/testbed"
)

// patience bounds every wait of these tests. It is long enough for a busy machine.
const patience = time.Minute

func withPatience(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

var connect = conntest.Connect

func newSubscriber(t testing.TB, conn *redisconn.Connection) *redispubsub.Subscriber {
	t.Helper()
	return silentSubscriber(t, redispubsub.New, conn)
}

// silentSubscriber returns a subscriber that construct has made and that logs nothing. It closes the
// subscriber at the end of the test.
func silentSubscriber[On any](t testing.TB, construct func(On, redispubsub.Opts) (*redispubsub.Subscriber, error), on On) *redispubsub.Subscriber {
	t.Helper()
	s, err := construct(on, redispubsub.Opts{Logger: redispubsub.NoopLogger{}})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s
}

func publish(t testing.TB, conn *redisconn.Connection, cmd, channel, payload string) {
	t.Helper()
	require.NoError(t, redis.AsError(redis.Sync{S: conn}.Do(cmd, channel, payload)))
}

// take returns the next n events.
func take(t testing.TB, sub *redispubsub.Subscription, n int) (events []redispubsub.Event) {
	t.Helper()
	for ev, err := range sub.Events(withPatience(t)) {
		require.NoError(t, err)
		if events = append(events, ev); len(events) == n {
			break
		}
	}
	require.Len(t, events, n)
	return events
}

// eachProtocol runs a test with RESP2 and RESP3.
func eachProtocol(t *testing.T, test func(t *testing.T, protocol int)) {
	for _, protocol := range []int{2, 3} {
		t.Run(fmt.Sprintf("RESP%d", protocol), func(t *testing.T) { test(t, protocol) })
	}
}

func TestMessages(t *testing.T) {
	eachProtocol(t, func(t *testing.T, protocol int) {
		conn := connect(t, testbed.NewServer(t).Addr(), redisconn.Opts{Protocol: protocol})
		sub := newSubscriber(t, conn).NewSubscription(redispubsub.SubscriptionOpts{})
		topics := []redispubsub.Topic{redispubsub.Channel("a"), redispubsub.Channel("b"), redispubsub.Pattern("c*")}
		require.NoError(t, sub.Subscribe(withPatience(t), topics...))
		assert.ElementsMatch(t, topics, sub.Topics())
		began := time.Now()
		publish(t, conn, "PUBLISH", "a", "1")
		publish(t, conn, "PUBLISH", "cc", "2")
		publish(t, conn, "PUBLISH", "other", "3")
		publish(t, conn, "PUBLISH", "b", "")
		var got []redispubsub.Message
		for _, ev := range take(t, sub, 3) {
			msg := ev.(redispubsub.Message)
			assert.WithinRange(t, msg.Time, began, time.Now())
			msg.Time = time.Time{}
			got = append(got, msg)
		}
		assert.Equal(t, []redispubsub.Message{
			{Channel: "a", Payload: []byte("1")},
			{Channel: "cc", Pattern: "c*", Payload: []byte("2")},
			{Channel: "b", Payload: []byte{}},
		}, got)
	})
}

func TestMessagesOverTLS(t *testing.T) {
	testbed.Needs(t, testbed.TLS)
	ca, err := testbed.NewCA()
	require.NoError(t, err)
	server := testbed.NewServer(t, testbed.Options{TLS: true, CA: ca})
	eachProtocol(t, func(t *testing.T, protocol int) {
		conn := connect(t, server.TLSAddr(), redisconn.Opts{
			Protocol: protocol, TLSEnabled: true, TLSConfig: &tls.Config{RootCAs: ca.Pool(), ServerName: "127.0.0.1"},
		})
		sub := newSubscriber(t, conn).NewSubscription(redispubsub.SubscriptionOpts{})
		require.NoError(t, sub.Subscribe(withPatience(t), redispubsub.Channel("a")))
		for range 2 {
			publish(t, conn, "PUBLISH", "a", "1")
			assert.Equal(t, "1", payload(t, take(t, sub, 1)[0]))
			server.Do("CLIENT KILL", "TYPE", "pubsub")
			for gap := (redispubsub.Gap{}); gap.Open(); {
				gap = take(t, sub, 1)[0].(redispubsub.Gap)
			}
		}
	})
}

func TestGapOfALostConnection(t *testing.T) {
	t.Parallel()
	eachProtocol(t, func(t *testing.T, protocol int) {
		t.Parallel()
		server := testbed.NewServer(t)
		proxy := chaos.NewProxy(t, server.Addr(), chaos.ProxyOpts{})
		direct := connect(t, server.Addr(), redisconn.Opts{})
		for action, timeout := range map[chaos.Action]time.Duration{
			chaos.Reset: time.Hour, chaos.Cut: time.Hour, chaos.Swallow: 2 * time.Second,
		} {
			conn := connect(t, proxy.Addr(), redisconn.Opts{Protocol: protocol, IOTimeout: timeout})
			began := time.Now()
			sub := newSubscriber(t, conn).NewSubscription(redispubsub.SubscriptionOpts{Status: true})
			topic := redispubsub.Channel("a")
			require.NoError(t, sub.Subscribe(withPatience(t), topic))
			publish(t, direct, "PUBLISH", "a", "1")
			events := take(t, sub, 2)
			assert.Equal(t, topic, events[0].(redispubsub.Subscribed).Topic)
			before := events[1].(redispubsub.Message)

			proxy.Arm(chaos.Fault{Do: action, On: chaos.Replies, At: chaos.Now()})
			broken := time.Now()
			events = take(t, sub, 2)
			open := events[0].(redispubsub.Gap)
			assert.True(t, open.Open())
			assert.Equal(t, redispubsub.ConnectionLost, open.Reason)
			assert.Error(t, open.Err)
			assert.WithinRange(t, open.From, began, broken)
			if timeout == time.Hour { // no heartbeat has come back since the handshake
				assert.True(t, open.From.Before(before.Time))
			}
			assert.Error(t, events[1].(redispubsub.Unsubscribed).Err)

			proxy.Heal()
			events = take(t, sub, 2)
			closed := events[0].(redispubsub.Gap)
			assert.Equal(t, []redispubsub.Topic{topic}, closed.Topics)
			assert.Equal(t, open.From, closed.From)
			assert.True(t, closed.To.After(closed.From))
			assert.Equal(t, topic, events[1].(redispubsub.Subscribed).Topic)
			publish(t, direct, "PUBLISH", "a", "2")
			assert.Equal(t, "2", string(take(t, sub, 1)[0].(redispubsub.Message).Payload))
			sub.Close()
		}
	})
}

// A subscriber lives as long as its connection. If the connection was made with a context that has a
// deadline, the end of that context ends neither.
func TestSubscriberOutlivesTheMakingOfItsConnection(t *testing.T) {
	server := testbed.NewServer(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	conn, err := redisconn.Connect(ctx, server.Addr(), redisconn.Opts{IOTimeout: time.Minute, Logger: redisconn.NoopLogger{}})
	require.NoError(t, err)
	defer conn.Close()
	sub := newSubscriber(t, conn).NewSubscription(redispubsub.SubscriptionOpts{})
	cancel()
	require.NoError(t, sub.Subscribe(withPatience(t), redispubsub.Channel("a")))
	publish(t, conn, "PUBLISH", "a", "x")
	take(t, sub, 1)
	conn.Close()
	for _, err := range sub.Events(withPatience(t)) {
		if err != nil {
			require.True(t, redis.AsErrorx(err).IsOfType(redispubsub.ErrClosed), "%v", err)
			require.NotErrorIs(t, err, context.Canceled, "it was closed")
		}
	}
}

// If the connection was made with a context without a deadline, the end of that context ends the
// connection and the subscriber.
func TestContextOfTheConnectionEndsSubscribers(t *testing.T) {
	server := testbed.NewServer(t)
	ctx, cancel := context.WithCancel(t.Context())
	conn, err := redisconn.Connect(ctx, server.Addr(), redisconn.Opts{IOTimeout: time.Minute, Logger: redisconn.NoopLogger{}})
	require.NoError(t, err)
	sub := newSubscriber(t, conn).NewSubscription(redispubsub.SubscriptionOpts{})
	cancel()
	err = sub.Subscribe(withPatience(t), redispubsub.Channel("a"))
	require.ErrorIs(t, err, context.Canceled)
	require.True(t, redis.AsErrorx(err).IsOfType(redispubsub.ErrClosed), "%v", err)
}
