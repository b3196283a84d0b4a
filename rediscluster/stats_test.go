package rediscluster

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/lab/drill"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster/internal/route"
	"github.com/joomcode/redispipe/rediscluster/internal/topology"
	"github.com/joomcode/redispipe/rediscluster/redisclusterutil"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest/chaos"
)

func TestStats(t *testing.T) {
	tb := sharedMasters.of(t)
	c, _ := connect(t, tb.Addrs(), calm)
	s := redis.Sync{S: c}
	require.Equal(t, "OK", s.Do("SET", "key", "value"))
	slot, from := owner(t, tb, "key")
	to := another(t, tb, from)
	require.NoError(t, tb.MoveSlot(slot, to))
	require.Equal(t, []byte("value"), s.Do("GET", "key"))
	awaitOwner(t, c, slot, to)

	stats := c.Stats()
	assert.EqualValues(t, 1, stats.Moved)
	assert.Zero(t, stats.Asked+stats.Retries+stats.Migrating)
	assert.GreaterOrEqual(t, stats.Refreshes, uint64(2))
	assert.Zero(t, stats.Waiting)
	require.Len(t, stats.Nodes, len(tb.Addrs()))
	answered := map[string]uint64{}
	sum, slots, holder := uint64(0), 0, ""
	for _, n := range stats.Nodes {
		for _, r := range n.Slots {
			slots += r.To - r.From + 1
			if r.From <= slot && slot <= r.To {
				holder = n.Addr
			}
		}
		require.NotEmpty(t, n.Conns, n.Addr)
		assert.False(t, n.Replica)
		for _, conn := range n.Conns {
			answered[n.Addr] += conn.Values + conn.Refused
			assert.Equal(t, n.Addr, conn.Addr)
		}
		sum += answered[n.Addr]
	}
	assert.Equal(t, redisclusterutil.NumSlots, slots)
	assert.Equal(t, to.Addr(), holder)
	assert.GreaterOrEqual(t, answered[from.Addr()], uint64(2), "SET, and GET that was redirected")
	assert.GreaterOrEqual(t, answered[to.Addr()], uint64(1))
	assert.LessOrEqual(t, sum, stats.Total.Values+stats.Total.Refused)
	assert.GreaterOrEqual(t, stats.Total.Refused, uint64(1), "MOVED")
}

func TestSlotRange(t *testing.T) {
	assert.Equal(t, "7", SlotRange{7, 7}.String())
	assert.Equal(t, "0-5460", SlotRange{0, 5460}.String())
}

// A connection that is being closed counts once.
func TestStatsWhileConnectionsClose(t *testing.T) {
	drill.Rotate(t)
	c, _ := connect(t, sharedCluster(t).Addrs(), Opts{CheckInterval: maxCheckInterval})
	n := c.topology.Load().Nodes[0]
	const links, requests = 100, 1000
	left := make(map[*route.Link]struct{}, links)
	for range links {
		conn, err := redisconn.Connect(t.Context(), n.Addr, redisconn.Opts{IOTimeout: time.Minute, Logger: redisconn.NoopLogger{}})
		require.NoError(t, err)
		l := route.NewLink(n)
		l.Conn, l.Backend = conn, n.Links[0].Backend
		left[l] = struct{}{}
		c.refresher.made(l)
		(redis.Sync{S: conn}).SendMany(slices.Repeat([]redis.Request{redis.Req("PING")}, requests))
	}
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		for l := range left {
			c.refresher.close(t.Context(), l)
		}
	}()
	for before := c.Stats().Total.Values; ; {
		assert.InDelta(t, before, c.Stats().Total.Values, requests/2)
		select {
		case <-closed:
			return
		default:
		}
	}
}

// If nodes disagree about the master of a replica, the replica still counts as one node. Its connections
// count once, even after they are closed.
func TestStatsOfAReplicaOfTwoMasters(t *testing.T) {
	answer := chaos.ScriptedReplies("+OK\r\n")
	one, two, replica := newScriptedNode(t, answer), newScriptedNode(t, answer), newScriptedNode(t, answer)
	c, _ := connect(t, []string{one.Addr()}, calm)
	c.refresher.publish(t.Context(), &topology.Layout{Shards: []topology.Shard{
		{Master: one.Addr(), Replicas: []string{replica.Addr()}},
		{Master: two.Addr(), Replicas: []string{replica.Addr()}},
	}})
	const requests = 100
	conn := c.topology.Load().Find(replica.Addr()).Links[0].Conn
	(redis.Sync{S: conn}).SendMany(slices.Repeat([]redis.Request{redis.Req("GET", "a")}, requests))
	before := c.Stats().Total.Values
	require.GreaterOrEqual(t, before, uint64(requests))
	c.refresher.publish(t.Context(), &topology.Layout{Shards: []topology.Shard{{Master: one.Addr()}, {Master: two.Addr()}}})
	await(t, "closed connections", func() bool { return len(c.refresher.links()) == len(c.topology.Load().Links()) })
	assert.Less(t, c.Stats().Total.Values, before+requests)
}

// If there is no master, neither the statistics nor the user's functions get a node without an
// address.
func TestNoMasterIsNoNode(t *testing.T) {
	replica := newScriptedNode(t, chaos.ScriptedReplies("+OK\r\n"))
	asked := make(chan string, 100)
	c, _ := connect(t, []string{replica.Addr()}, Opts{
		CheckInterval: maxCheckInterval, Zone: "here", WeightProvider: asking(asked),
		ZoneOf: func(addr string) string {
			asked <- addr
			return ""
		},
	})
	c.refresher.publish(t.Context(), &topology.Layout{Shards: []topology.Shard{{Replicas: []string{replica.Addr()}}}})
	for _, n := range c.topology.Load().Nodes {
		assert.EqualValues(t, 1, c.userWeight(t.Context(), n))
	}
	for range len(asked) {
		assert.NotEmpty(t, <-asked)
	}
	stats := c.Stats()
	require.Len(t, stats.Nodes, 1)
	assert.Equal(t, replica.Addr(), stats.Nodes[0].Addr)
}

// asking is a WeightProvider without weights. It sends each host that it is asked for on the channel.
type asking chan<- string

func (a asking) GetWeightByHost(host string) (uint32, bool) {
	a <- host
	return 0, false
}
