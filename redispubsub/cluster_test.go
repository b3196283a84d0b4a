package redispubsub_test

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/lab/drill"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redispubsub"
	"github.com/joomcode/redispipe/testbed"
)

var _ redispubsub.Nodes = (*rediscluster.Cluster)(nil)

// NewCluster accepts a type that embeds a cluster, because a subscriber sends nothing through the cluster.
// It refuses other implementations of Nodes, because only a cluster can tell it the nodes.
func TestWhatIsACluster(t *testing.T) {
	c, err := rediscluster.NewReplicated(t.Context(), []string{testbed.NewServer(t).Addr()}, rediscluster.Opts{
		Logger: rediscluster.NoopLogger{}, HostOpts: redisconn.Opts{IOTimeout: patience},
	})
	require.NoError(t, err)
	defer c.Close()
	type decorator struct{ *rediscluster.Cluster }
	for name, nodes := range map[string]redispubsub.Nodes{
		"cluster": c, "policy": c.WithPolicy(rediscluster.PreferSlaves), "decorator": decorator{c},
	} {
		s := silentSubscriber(t, redispubsub.NewCluster, nodes)
		sub := s.NewSubscription(redispubsub.SubscriptionOpts{})
		require.NoError(t, sub.Subscribe(withPatience(t), redispubsub.Channel("a")), name)
		s.Close()
	}
	_, err = redispubsub.NewCluster(nobody{}, redispubsub.Opts{})
	assert.ErrorContains(t, err, "nodes is not a cluster")
}

// nobody is a Nodes without a cluster.
type nobody struct{ *rediscluster.Cluster }

func connectCluster(t testing.TB, addrs []string, protocol int) *rediscluster.Cluster {
	t.Helper()
	c, err := rediscluster.NewCluster(t.Context(), addrs, rediscluster.Opts{
		Logger: rediscluster.NoopLogger{}, HostOpts: redisconn.Opts{Protocol: protocol, Logger: redisconn.NoopLogger{}, IOTimeout: patience},
	})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

func newClusterSubscriber(t testing.TB, c *rediscluster.Cluster) *redispubsub.Subscriber {
	t.Helper()
	return silentSubscriber[redispubsub.Nodes](t, redispubsub.NewCluster, c)
}

// Sharded channels are subscribed on the masters of their slots, and follow the slots.
func TestShardedChannelsFollowTheirSlot(t *testing.T) {
	drill.Rotate(t)
	t.Parallel()
	testbed.Needs(t, testbed.Version(7, 0))
	eachProtocol(t, func(t *testing.T, protocol int) {
		t.Parallel()
		bed := testbed.NewCluster(t, testbed.ClusterOptions{Replicas: -1})
		c := connectCluster(t, bed.Addrs(), protocol)
		s := newClusterSubscriber(t, c)
		sub := s.NewSubscription(redispubsub.SubscriptionOpts{})
		var topics []redispubsub.Topic
		for i := range 20 {
			topics = append(topics, redispubsub.Sharded(fmt.Sprint("room", i)))
		}
		topics = append(topics, redispubsub.Channel("plain"))
		require.NoError(t, sub.Subscribe(withPatience(t), topics...))
		assert.Len(t, s.Stats().Sockets, 3)
		for _, topic := range topics[:20] {
			require.NoError(t, redis.AsError(redis.Sync{S: c}.Do("SPUBLISH", topic.Name, "hi")))
		}
		require.NoError(t, redis.AsError(redis.Sync{S: c}.Do("PUBLISH", "plain", "hi")))
		var got []redispubsub.Topic
		for _, ev := range take(t, sub, 21) {
			msg := ev.(redispubsub.Message)
			if msg.Sharded {
				got = append(got, redispubsub.Sharded(msg.Channel))
			} else {
				got = append(got, redispubsub.Channel(msg.Channel))
			}
		}
		assert.ElementsMatch(t, topics, got)

		slot, err := bed.Slot("room0")
		require.NoError(t, err)
		owner, err := bed.Owner(slot)
		require.NoError(t, err)
		whole, err := testbed.Has(testbed.AtomicMigration)
		require.NoError(t, err)
		for i := range 12 {
			to := bed.Node((slices.Index(bed.Nodes(), owner) + 1 + i%2) % 3)
			if whole && i%4 >= 2 {
				require.NoError(t, bed.MoveSlotWhole(slot, to))
			} else {
				require.NoError(t, bed.MoveSlot(slot, to))
			}
			for moved := false; ; { // if other nodes learn of the move late, there may be another gap
				switch ev := take(t, sub, 1)[0].(type) {
				case redispubsub.Gap:
					assert.Equal(t, []redispubsub.Topic{topics[0]}, ev.Topics)
					assert.Equal(t, redispubsub.SlotMoved, ev.Reason)
					moved = true
					if !ev.Open() {
						require.NoError(t, redis.AsError(redis.Sync{S: c}.Do("SPUBLISH", "room0", fmt.Sprint(i))))
					}
					continue
				case redispubsub.Message:
					if string(ev.Payload) != fmt.Sprint(i) {
						continue // a message of the move before
					}
				}
				require.True(t, moved)
				break
			}
		}
	})
}

// When a master hands over to its replica, the subscription has one gap with the reason Failover. It gets
// all messages outside of the gap.
func TestGapOfAFailover(t *testing.T) {
	drill.Rotate(t)
	t.Parallel()
	testbed.Needs(t, testbed.Version(7, 0))
	eachProtocol(t, func(t *testing.T, protocol int) {
		t.Parallel()
		bed := testbed.NewCluster(t)
		c := connectCluster(t, bed.Addrs(), protocol)
		s := newClusterSubscriber(t, c)
		sub := s.NewSubscription(redispubsub.SubscriptionOpts{})
		sharded, plain := redispubsub.Sharded("room"), redispubsub.Channel("room")
		require.NoError(t, sub.Subscribe(withPatience(t), sharded, plain))
		slot, err := bed.Slot("room")
		require.NoError(t, err)
		owner, err := bed.Owner(slot)
		require.NoError(t, err)
		replicas, err := bed.Replicas(owner)
		require.NoError(t, err)
		require.NoError(t, bed.Failover(replicas[0], testbed.Graceful))
		ended := map[redispubsub.Topic]bool{}
		for len(ended) < 2 {
			gap := take(t, sub, 1)[0].(redispubsub.Gap)
			assert.Equal(t, redispubsub.Failover, gap.Reason, "%+v", gap)
			for _, topic := range gap.Topics {
				if !gap.Open() {
					ended[topic] = true
				}
			}
		}
		for _, cmd := range []string{"SPUBLISH", "PUBLISH"} {
			require.NoError(t, redis.AsError(redis.Sync{S: c}.Do(cmd, "room", cmd)))
		}
		// Messages that were published during the move may be missing. After that, all arrive in
		// order.
		n := 0
		require.Eventually(t, func() bool {
			n++
			stats := s.Stats()
			settled := stats.OpenGaps == 0 && stats.Unplaced == 0 && len(stats.Sockets) == 1 && stats.Sockets[0].Addr == replicas[0].Addr()
			return redis.AsError(redis.Sync{S: c}.Do("SPUBLISH", "room", n)) == nil && settled
		}, patience, time.Millisecond, "%+v", s.Stats())
		require.NoError(t, redis.AsError(redis.Sync{S: c}.Do("SPUBLISH", "room", "end")))
		last := -1
		for {
			msg, ok := take(t, sub, 1)[0].(redispubsub.Message)
			if !ok {
				continue
			}
			if string(msg.Payload) == "end" {
				break
			}
			if n, err := strconv.Atoi(string(msg.Payload)); err == nil {
				require.Greater(t, n, last)
				last = n
			}
		}
	})
}
