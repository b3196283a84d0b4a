package redispubsub_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/lab/drill"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redispubsub"
	"github.com/joomcode/redispipe/testbed"
)

// notify makes all nodes send keyspace notifications.
func notify(t *testing.T, nodes ...*testbed.Node) {
	t.Helper()
	for _, n := range nodes {
		require.NoError(t, redis.AsError(n.Do("CONFIG SET", "notify-keyspace-events", "KEA")))
	}
}

// setOn waits until the given node has sent the notification that a key was set.
func setOn(t *testing.T, sub *redispubsub.Subscription, key string, node *testbed.Node) {
	t.Helper()
	for {
		msg, ok := take(t, sub, 1)[0].(redispubsub.Message)
		if ok && string(msg.Payload) == key && msg.Node == node.Addr() {
			return
		}
	}
}

// Keyspace notifications arrive from every node, including nodes that join later.
func TestEveryNode(t *testing.T) {
	drill.Rotate(t)
	t.Parallel()
	testbed.Needs(t, testbed.Version(7, 0)) // older servers hold up writes for long during a manual failover
	events := redispubsub.Pattern("__keyevent@0__:set")
	for _, on := range []redispubsub.NodeSet{redispubsub.AllMasters, redispubsub.AllNodes} {
		t.Run(on.String(), func(t *testing.T) {
			t.Parallel()
			bed := testbed.NewCluster(t, testbed.ClusterOptions{NodeTimeout: patience}) // so long that no failover starts by itself
			notify(t, bed.Nodes()...)
			c := connectCluster(t, bed.Addrs(), 2)
			s := newClusterSubscriber(t, c)
			sub := s.NewSubscription(redispubsub.SubscriptionOpts{On: on})
			require.NoError(t, sub.Subscribe(withPatience(t), events))
			assert.Equal(t, []redispubsub.Topic{events}, sub.Topics())
			masters, err := bed.Masters()
			require.NoError(t, err)
			keys := map[string]*testbed.Node{}
			for i := 0; len(keys) < 3; i++ {
				key := fmt.Sprint("key", i)
				slot, err := bed.Slot(key)
				require.NoError(t, err)
				owner, err := bed.Owner(slot)
				require.NoError(t, err)
				if !slices.Contains(masters, owner) {
					continue
				}
				masters = slices.DeleteFunc(masters, func(n *testbed.Node) bool { return n == owner })
				keys[key] = owner
			}
			for key, owner := range keys {
				require.NoError(t, redis.AsError(redis.Sync{S: c}.Do("SET", key, "1")))
				setOn(t, sub, key, owner)
				if on == redispubsub.AllNodes {
					replicas, err := bed.Replicas(owner)
					require.NoError(t, err)
					require.NoError(t, redis.AsError(redis.Sync{S: c}.Do("SET", key, "2")))
					setOn(t, sub, key, replicas[0])
				}
			}
			for key, owner := range keys { // any one of the keys
				replicas, err := bed.Replicas(owner)
				require.NoError(t, err)
				began := time.Now()
				require.NoError(t, bed.Failover(replicas[0], testbed.Graceful))
				var gap redispubsub.Gap
				for gap.Open() || !slices.Contains(gap.Nodes, replicas[0].Addr()) {
					gap, _ = take(t, sub, 1)[0].(redispubsub.Gap)
				}
				assert.Equal(t, []redispubsub.Topic{events}, gap.Topics)
				assert.Equal(t, redispubsub.Failover, gap.Reason)
				assert.True(t, gap.From.Before(began) || on == redispubsub.AllNodes, "the new master may have notified before anybody knew it")
				// With AllMasters, the subscriber must have left the old master. With AllNodes, it may not
				// have subscribed on the new master yet.
				require.Eventually(t, func() bool {
					stats := s.Stats()
					return stats.OpenGaps == 0 && stats.Unplaced == 0
				}, patience, time.Millisecond)
				require.NoError(t, redis.AsError(redis.Sync{S: c}.Do("SET", key, "3")))
				setOn(t, sub, key, replicas[0])
				break
			}
			require.NoError(t, sub.Unsubscribe(withPatience(t), events))
			assert.Empty(t, sub.Topics())
			require.Eventually(t, func() bool { // the socket to the old master may take a moment to close
				return len(s.Stats().Sockets) == 0
			}, patience, time.Millisecond)
		})
	}
}

// If one of several nodes refuses a topic, Subscribe reports it once, and the topic is unsubscribed on all
// nodes.
func TestEveryNodeRefuses(t *testing.T) {
	acl := testbed.Options{ACL: []string{"some on >secret ~* resetchannels &ok* +@all"}}
	opts := redisconn.Opts{Username: "some", Password: "secret"}
	nodes := newFakeNodes(connect(t, testbed.NewServer(t, acl).Addr(), opts), connect(t, testbed.NewServer(t, acl).Addr(), opts))
	s := newFakeSubscriber(t, nodes)
	sub := s.NewSubscription(redispubsub.SubscriptionOpts{On: redispubsub.AllMasters})
	forbidden, ok := redispubsub.Channel("forbidden"), redispubsub.Channel("ok")
	var failed *redispubsub.SubscribeError
	require.ErrorAs(t, sub.Subscribe(withPatience(t), forbidden, ok), &failed)
	assert.Equal(t, []redispubsub.Topic{forbidden}, failed.Topics)
	assert.Equal(t, []redispubsub.Topic{ok}, sub.Topics())
	requireType(t, redispubsub.ErrTopic, sub.Subscribe(withPatience(t), redispubsub.Sharded("ok")))
	bad := s.NewSubscription(redispubsub.SubscriptionOpts{On: 9})
	assert.ErrorContains(t, bad.Subscribe(withPatience(t), ok), "NodeSet(9)")
	nodes.change()
	none := s.NewSubscription(redispubsub.SubscriptionOpts{On: redispubsub.AllNodes})
	requireType(t, redispubsub.ErrNoNodes, none.Subscribe(withPatience(t), ok))
}

// If a change of the ACL of one node forbids a channel, the channel is unsubscribed on all nodes. The gap
// of each node stays open.
func TestAnACLOfOneNode(t *testing.T) {
	acl := testbed.Options{ACL: []string{"some on >secret ~* &* +@all"}}
	opts := redisconn.Opts{Username: "some", Password: "secret"}
	one, two := testbed.NewServer(t, acl), testbed.NewServer(t, acl)
	s := newFakeSubscriber(t, newFakeNodes(connect(t, one.Addr(), opts), connect(t, two.Addr(), opts)))
	sub := s.NewSubscription(redispubsub.SubscriptionOpts{On: redispubsub.AllMasters})
	taken := redispubsub.Channel("taken")
	require.NoError(t, sub.Subscribe(withPatience(t), taken))
	require.Equal(t, "OK", one.Do("ACL", "SETUSER", "some", "resetchannels"))
	var lost, left []string
	for len(left) < 2 {
		switch ev := take(t, sub, 1)[0].(type) {
		case redispubsub.Gap:
			require.True(t, ev.Open(), "%+v", ev)
			if redis.AsErrorx(ev.Err).IsOfType(redispubsub.ErrRefused) {
				lost = append(lost, ev.Nodes...)
			}
		case redispubsub.Unsubscribed:
			requireType(t, redispubsub.ErrRefused, ev.Err)
			left = append(left, ev.Node)
		}
	}
	assert.ElementsMatch(t, []string{one.Addr(), two.Addr()}, left)
	assert.Subset(t, lost, left)
	assert.Empty(t, sub.Topics())
	assert.Zero(t, s.Stats().OpenGaps)
}

// A subscription on all nodes has a gap when a node joins, and when one leaves.
func TestNodesComeAndGo(t *testing.T) {
	first, second := testbed.NewServer(t), testbed.NewServer(t)
	one, other := connect(t, first.Addr(), redisconn.Opts{}), connect(t, second.Addr(), redisconn.Opts{})
	nodes := newFakeNodes(one)
	sub := newFakeSubscriber(t, nodes).NewSubscription(redispubsub.SubscriptionOpts{On: redispubsub.AllMasters, Status: true})
	topic := redispubsub.Pattern("*")
	made := time.Now()
	require.NoError(t, sub.Subscribe(withPatience(t), topic))
	untilSubscribed(t, sub)

	nodes.change(one, other) // the fake does not say since when, so the gap starts with the subscription
	gap := lastGap(t, untilSubscribed(t, sub), redispubsub.SlotMoved)
	assert.Equal(t, []string{other.Addr()}, gap.Nodes)
	assert.WithinRange(t, gap.From, made, time.Now(), "nothing was asked for before")
	for _, conn := range []*redisconn.Connection{one, other} {
		publish(t, conn, "PUBLISH", "a", "1")
		assert.Equal(t, conn.Addr(), take(t, sub, 1)[0].(redispubsub.Message).Node)
	}

	nodes.change(other)
	var left redispubsub.Gap
	for left.Open() {
		left, _ = take(t, sub, 1)[0].(redispubsub.Gap)
	}
	assert.Equal(t, []string{one.Addr()}, left.Nodes)
	assert.Equal(t, redispubsub.Failover, left.Reason)
	publish(t, one, "PUBLISH", "a", "2")
	publish(t, other, "PUBLISH", "a", "3")
	last := take(t, sub, 1)[0]
	for was := last; ; was = last {
		last = take(t, sub, 1)[0]
		if msg, ok := last.(redispubsub.Message); ok {
			assert.Equal(t, "3", string(msg.Payload))
			assert.Equal(t, one.Addr(), was.(redispubsub.Unsubscribed).Node, "it is still subscribed on the other")
			break
		}
	}
}

// If a topic is unsubscribed before several nodes have confirmed it, the waiting Subscribe reports it once.
func TestEveryNodeTakenBack(t *testing.T) {
	var conns []*redisconn.Connection
	for range 3 {
		server := testbed.NewServer(t)
		conns = append(conns, connect(t, server.Addr(), redisconn.Opts{IOTimeout: time.Hour}))
		require.NoError(t, server.Pause())
	}
	s := newFakeSubscriber(t, newFakeNodes(conns...))
	topics := []redispubsub.Topic{redispubsub.Channel("a"), redispubsub.Channel("b")}
	for _, takeBack := range []func(*redispubsub.Subscription){
		func(sub *redispubsub.Subscription) { _ = sub.Unsubscribe(canceled(), topics...) },
		(*redispubsub.Subscription).Close,
		func(*redispubsub.Subscription) { s.Close() },
	} {
		sub := s.NewSubscription(redispubsub.SubscriptionOpts{On: redispubsub.AllMasters})
		done := make(chan error, 1)
		go func() { done <- sub.Subscribe(withPatience(t), topics...) }()
		require.Eventually(t, func() bool { return len(sub.Topics()) > 0 }, patience, time.Millisecond)
		takeBack(sub)
		var failed *redispubsub.SubscribeError
		err := <-done
		require.ErrorAs(t, err, &failed)
		assert.ElementsMatch(t, topics, failed.Topics)
		for _, err := range failed.Errors {
			requireType(t, redispubsub.ErrClosed, err)
		}
	}
	require.Eventually(t, func() bool { return len(s.Stats().Sockets) == 0 }, patience, time.Millisecond, "a closed one has none")
}

func canceled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// While nodes disagree, they may report a server twice: as the replica of two masters, or in both
// roles. Its messages are delivered once.
func TestEveryNodeOnce(t *testing.T) {
	server := testbed.NewServer(t).Addr()
	master := connect(t, testbed.NewServer(t).Addr(), redisconn.Opts{})
	replica, other := connect(t, server, redisconn.Opts{}), connect(t, server, redisconn.Opts{})
	nodes := newFakeNodes(master)
	nodes.replicas = []*redisconn.Connection{replica, replica}
	sub := newFakeSubscriber(t, nodes).NewSubscription(redispubsub.SubscriptionOpts{On: redispubsub.AllNodes})
	require.NoError(t, sub.Subscribe(withPatience(t), redispubsub.Channel("a")))
	messages := func(payloads ...string) {
		t.Helper()
		for _, p := range payloads {
			publish(t, replica, "PUBLISH", "a", p)
		}
		var got []string
		for len(got) < len(payloads) {
			if msg, ok := take(t, sub, 1)[0].(redispubsub.Message); ok {
				got = append(got, string(msg.Payload))
			}
		}
		assert.Equal(t, payloads, got)
	}
	messages("1", "2")
	nodes.change(master, other)
	require.NoError(t, sub.Subscribe(withPatience(t), redispubsub.Channel("b"))) // after this, the subscriber knows both nodes
	messages("3", "4")
}
