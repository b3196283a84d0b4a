package redispubsub_test

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/joomcode/errorx"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redispubsub"
	"github.com/joomcode/redispipe/redistest/chaos"
	"github.com/joomcode/redispipe/testbed"
)

func requireType(t testing.TB, want *errorx.Type, err error) {
	t.Helper()
	require.True(t, errorx.IsOfType(err, want), "%v", err)
}

func TestSubscribeRefusesBadTopics(t *testing.T) {
	s := newSubscriber(t, connect(t, testbed.NewServer(t).Addr(), redisconn.Opts{}))
	sub := s.NewSubscription(redispubsub.SubscriptionOpts{})
	for _, topics := range [][]redispubsub.Topic{
		nil, {redispubsub.Channel("")}, {redispubsub.Channel("a"), redispubsub.Pattern("")}, {{Kind: 3, Name: "a"}},
	} {
		requireType(t, redispubsub.ErrTopic, sub.Subscribe(withPatience(t), topics...))
		requireType(t, redispubsub.ErrTopic, sub.Unsubscribe(withPatience(t), topics...))
	}
	assert.Empty(t, sub.Topics())
	assert.Empty(t, s.Stats().Sockets, "nothing was dialed")
	bad := s.NewSubscription(redispubsub.SubscriptionOpts{Policy: 9})
	assert.ErrorContains(t, bad.Subscribe(withPatience(t), redispubsub.Channel("a")), "Policy(9)")
	_, err := redispubsub.New(nil, redispubsub.Opts{})
	assert.Error(t, err)
	_, err = redispubsub.NewCluster(nil, redispubsub.Opts{})
	assert.Error(t, err)
}

// If sockets can't be opened for a permanent reason, Subscribe returns an error that is not safe to retry.
func TestSubscribeWithAWrongPassword(t *testing.T) {
	server := testbed.NewServer(t, testbed.Options{ACL: []string{"some on >secret &* +@all"}})
	conn := connect(t, server.Addr(), redisconn.Opts{Username: "some", Password: "secret"})
	require.Equal(t, "OK", server.Do("ACL", "SETUSER", "some", "resetpass", ">other"))
	err := newSubscriber(t, conn).NewSubscription(redispubsub.SubscriptionOpts{}).Subscribe(withPatience(t), redispubsub.Channel("a"))
	require.ErrorContains(t, err, "WRONGPASS")
	assert.False(t, redis.SafeToRetry(err))
}

// A topic that the server refuses does not affect other topics, and is not requested again.
func TestARefusedTopicTakesNoOtherWithIt(t *testing.T) {
	server := testbed.NewServer(t, testbed.Options{ACL: []string{"some on >secret ~* resetchannels &ok* +@all"}})
	eachProtocol(t, func(t *testing.T, protocol int) {
		conn := connect(t, server.Addr(), redisconn.Opts{Username: "some", Password: "secret", Protocol: protocol})
		sub := newSubscriber(t, conn).NewSubscription(redispubsub.SubscriptionOpts{})
		forbidden := redispubsub.Channel("forbidden")
		err := sub.Subscribe(withPatience(t), redispubsub.Channel("ok1"), forbidden, redispubsub.Channel("ok2"))
		var failed *redispubsub.SubscribeError
		require.ErrorAs(t, err, &failed)
		assert.Equal(t, []redispubsub.Topic{forbidden}, failed.Topics)
		requireType(t, redispubsub.ErrRefused, failed.Errors[0])
		assert.ErrorContains(t, err, "NOPERM")
		assert.NotContains(t, err.Error(), "forbidden")
		assert.ElementsMatch(t, []redispubsub.Topic{redispubsub.Channel("ok1"), redispubsub.Channel("ok2")}, sub.Topics())
		publish(t, conn, "PUBLISH", "ok2", "1")
		assert.Equal(t, "ok2", take(t, sub, 1)[0].(redispubsub.Message).Channel)
	})
}

// If a change of the ACL forbids a topic, the topic is unsubscribed. Its gap stays open and contains the
// reason. Other topics continue.
func TestAnACLTakesAChannelAway(t *testing.T) {
	server := testbed.NewServer(t, testbed.Options{ACL: []string{"some on >secret ~* &* +@all"}})
	conn := connect(t, server.Addr(), redisconn.Opts{Username: "some", Password: "secret"})
	s := newSubscriber(t, conn)
	for _, taken := range []redispubsub.Topic{redispubsub.Channel("taken"), redispubsub.Pattern("taken*"), redispubsub.Sharded("taken")} {
		require.Equal(t, "OK", server.Do("ACL", "SETUSER", "some", "&*"))
		sub := s.NewSubscription(redispubsub.SubscriptionOpts{})
		ok := redispubsub.Channel("ok")
		require.NoError(t, sub.Subscribe(withPatience(t), ok, taken))
		require.Equal(t, "OK", server.Do("ACL", "SETUSER", "some", "resetchannels", "&ok"))
		var lost redispubsub.Gap
		for left := false; !left; {
			switch ev := take(t, sub, 1)[0].(type) {
			case redispubsub.Gap:
				if slices.Contains(ev.Topics, taken) {
					require.True(t, ev.Open(), "%+v", ev)
					lost = ev
				}
			case redispubsub.Unsubscribed:
				assert.Equal(t, taken, ev.Topic)
				requireType(t, redispubsub.ErrRefused, ev.Err)
				left = true
			}
		}
		assert.Equal(t, []redispubsub.Topic{taken}, lost.Topics)
		requireType(t, redispubsub.ErrRefused, lost.Err)
		assert.ErrorContains(t, lost.Err, "NOPERM")
		require.Eventually(t, func() bool { return s.Stats().OpenGaps == 0 }, patience, time.Millisecond)
		publish(t, conn, "PUBLISH", "ok", "1")
		for msg := false; !msg; {
			switch ev := take(t, sub, 1)[0].(type) {
			case redispubsub.Gap:
				assert.NotContains(t, ev.Topics, taken)
			case redispubsub.Message:
				msg = true
			}
		}
		assert.Equal(t, []redispubsub.Topic{ok}, sub.Topics())
		sub.Close()
	}
}

func TestUnsubscribe(t *testing.T) {
	eachProtocol(t, func(t *testing.T, protocol int) {
		conn := connect(t, testbed.NewServer(t).Addr(), redisconn.Opts{Protocol: protocol})
		s := newSubscriber(t, conn)
		one := s.NewSubscription(redispubsub.SubscriptionOpts{Status: true})
		two := s.NewSubscription(redispubsub.SubscriptionOpts{})
		a, b := redispubsub.Channel("a"), redispubsub.Channel("b")
		require.NoError(t, one.Subscribe(withPatience(t), a, b))
		require.NoError(t, two.Subscribe(withPatience(t), a, a))
		require.NoError(t, two.Subscribe(withPatience(t), a))
		publish(t, conn, "PUBLISH", "a", "1")
		assert.Equal(t, "1", string(take(t, two, 1)[0].(redispubsub.Message).Payload))
		require.NoError(t, one.Unsubscribe(withPatience(t), a))
		publish(t, conn, "PUBLISH", "a", "2")
		publish(t, conn, "PUBLISH", "b", "3")
		assert.Equal(t, "2", string(take(t, two, 1)[0].(redispubsub.Message).Payload))
		events := take(t, one, 5)
		assert.Equal(t, a, events[3].(redispubsub.Unsubscribed).Topic)
		assert.NoError(t, events[3].(redispubsub.Unsubscribed).Err)
		assert.Equal(t, "3", string(events[4].(redispubsub.Message).Payload))

		require.NoError(t, two.Unsubscribe(withPatience(t), a))
		require.NoError(t, one.Unsubscribe(withPatience(t), a, b))
		assert.Empty(t, s.Stats().Sockets, "no socket without topics")
		require.NoError(t, one.Subscribe(withPatience(t), a), "again")
	})
}

// With Block, a topic can be unsubscribed while one of its messages waits for room, even by the consumer.
func TestUnsubscribeWhatWaitsForRoom(t *testing.T) {
	conn := connect(t, testbed.NewServer(t).Addr(), redisconn.Opts{})
	sub := newSubscriber(t, conn).NewSubscription(redispubsub.SubscriptionOpts{Policy: redispubsub.Block, MaxMessages: 1})
	a := redispubsub.Channel("a")
	require.NoError(t, sub.Subscribe(withPatience(t), a))
	for n := range 50 {
		publish(t, conn, "PUBLISH", "a", fmt.Sprint(n))
	}
	for _, err := range sub.Events(withPatience(t)) {
		require.NoError(t, err)
		require.NoError(t, sub.Unsubscribe(withPatience(t), a))
		break
	}
	require.NoError(t, sub.Subscribe(withPatience(t), a), "again")
}

func TestClose(t *testing.T) {
	conn := connect(t, testbed.NewServer(t).Addr(), redisconn.Opts{})
	s := newSubscriber(t, conn)
	a := redispubsub.Channel("a")
	closed, open, idle := s.NewSubscription(redispubsub.SubscriptionOpts{}), s.NewSubscription(redispubsub.SubscriptionOpts{}), s.NewSubscription(redispubsub.SubscriptionOpts{})
	require.NoError(t, closed.Subscribe(withPatience(t), a))
	require.NoError(t, open.Subscribe(withPatience(t), a))
	publish(t, conn, "PUBLISH", "a", "1")
	take(t, closed, 1)
	publish(t, conn, "PUBLISH", "a", "2")
	closed.Close()
	for range closed.Events(withPatience(t)) {
		t.Fatal("no event and no error after Close")
	}
	requireType(t, redispubsub.ErrClosed, closed.Subscribe(withPatience(t), a))

	take(t, open, 1)
	conn.Close()
	var last error
	for _, err := range open.Events(withPatience(t)) {
		last = err
	}
	requireType(t, redispubsub.ErrClosed, last)
	for _, err := range idle.Events(withPatience(t)) {
		requireType(t, redispubsub.ErrClosed, err)
	}
	requireType(t, redispubsub.ErrClosed, open.Subscribe(withPatience(t), a))
	late := s.NewSubscription(redispubsub.SubscriptionOpts{})
	requireType(t, redispubsub.ErrClosed, late.Subscribe(withPatience(t), a))
}

// If Subscribe does not get the confirmation in time, it removes the topic.
func TestSubscribeWithAContextThatEnds(t *testing.T) {
	server := testbed.NewServer(t)
	s := newSubscriber(t, connect(t, server.Addr(), redisconn.Opts{}))
	sub := s.NewSubscription(redispubsub.SubscriptionOpts{})
	require.NoError(t, server.Pause())
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	assert.ErrorIs(t, sub.Subscribe(ctx, redispubsub.Channel("a")), context.DeadlineExceeded)
	assert.Empty(t, sub.Topics())
	require.NoError(t, server.Resume())
}

func TestContextIsNil(t *testing.T) {
	s := newSubscriber(t, connect(t, testbed.NewServer(t).Addr(), redisconn.Opts{}))
	sub := s.NewSubscription(redispubsub.SubscriptionOpts{})
	var none context.Context
	requireType(t, redis.ErrContextIsNil, sub.Subscribe(none, redispubsub.Channel("a")))
	requireType(t, redis.ErrContextIsNil, sub.Unsubscribe(none))
	for ev, err := range sub.Events(none) {
		require.Nil(t, ev)
		requireType(t, redis.ErrContextIsNil, err)
	}
	_, open := <-sub.Chan(none)
	require.False(t, open)
}

// Malformed pushes end the socket, and no subscription gets them.
func TestStreamInDoubt(t *testing.T) {
	t.Parallel()
	eachProtocol(t, func(t *testing.T, protocol int) {
		head, other := "*", ">"
		if protocol == 3 {
			head, other = ">", "*"
		}
		message := chaos.ScriptedBulk("message")
		for name, bytes := range map[string]string{
			"message of another channel": head + "3\r\n" + message + chaos.ScriptedBulk("other") + chaos.ScriptedBulk("x"),
			"message without a payload":  head + "2\r\n" + message + chaos.ScriptedBulk("a"),
			"message of numbers":         head + "3\r\n" + message + chaos.ScriptedBulk("a") + ":1\r\n",
			"message in the other form":  other + "3\r\n" + message + chaos.ScriptedBulk("a") + chaos.ScriptedBulk("x"),
			"confirmation of nothing":    head + "3\r\n" + chaos.ScriptedBulk("subscribe") + chaos.ScriptedBulk("a") + ":1\r\n",
			"unknown kind":               head + "2\r\n" + chaos.ScriptedBulk("what") + ":1\r\n",
			"push without a kind":        head + "0\r\n",
			"reply":                      "+OK\r\n",
			"error":                      "-ERR what\r\n",
			"no RESP":                    "HTTP/1.1 400\r\n",
		} {
			t.Run(name, func(t *testing.T) {
				server := chaos.NewScripted(t, chaos.ScriptedOpts{Handler: func(c *chaos.ScriptedConn, r chaos.ScriptedRequest) error {
					_, err := fmt.Fprintf(c, "%s3\r\n%s%s:1\r\n", head, chaos.ScriptedBulk(strings.ToLower(r.Cmd)), chaos.ScriptedBulk(r.Args[0]))
					return err
				}})
				s := newSubscriber(t, connect(t, server.Addr(), redisconn.Opts{Protocol: protocol}))
				sub := s.NewSubscription(redispubsub.SubscriptionOpts{})
				require.NoError(t, sub.Subscribe(withPatience(t), redispubsub.Channel("a")))
				// When b is unsubscribed, no command is in flight.
				require.NoError(t, sub.Subscribe(withPatience(t), redispubsub.Channel("b")))
				require.NoError(t, sub.Unsubscribe(withPatience(t), redispubsub.Channel("b")))
				server.Broadcast([]byte(bytes))
				gap := take(t, sub, 1)[0].(redispubsub.Gap)
				assert.Error(t, gap.Err)
				if gap.Open() {
					gap = take(t, sub, 1)[0].(redispubsub.Gap)
				}
				assert.False(t, gap.Open())
			})
		}
	})
}

// If a server confirms something other than the request, the socket is closed.
func TestUnconfirmed(t *testing.T) {
	calls := 0
	server := chaos.NewScripted(t, chaos.ScriptedOpts{Handler: func(c *chaos.ScriptedConn, r chaos.ScriptedRequest) error {
		if calls++; calls < 3 {
			return nil
		}
		_, err := io.WriteString(c, "*3\r\n"+chaos.ScriptedBulk("subscribe")+chaos.ScriptedBulk("a")+":1\r\n")
		return err
	}})
	sub := newSubscriber(t, connect(t, server.Addr(), redisconn.Opts{})).NewSubscription(redispubsub.SubscriptionOpts{})
	require.NoError(t, sub.Subscribe(withPatience(t), redispubsub.Channel("a")))
	assert.Equal(t, 3, calls)
}

func TestPermanentFailureToConnect(t *testing.T) {
	server := testbed.NewServer(t, testbed.Options{ACL: []string{"deaf on >secret ~* &* +@all -ping"}})
	conn := connect(t, server.Addr(), redisconn.Opts{Username: "deaf", Password: "secret"})
	sub := newSubscriber(t, conn).NewSubscription(redispubsub.SubscriptionOpts{})
	err := sub.Subscribe(withPatience(t), redispubsub.Channel("a"))
	assert.ErrorContains(t, err, "NOPERM")
}

func TestClusterIsNil(t *testing.T) {
	var c *rediscluster.Cluster
	_, err := redispubsub.NewCluster(c, redispubsub.Opts{})
	require.Error(t, err)
}
