package rediscluster

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/request"
	"github.com/joomcode/redispipe/internal/slot"
	"github.com/joomcode/redispipe/internal/topology"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/testbed"
)

// threeMasters is a topology of three shards, without connections: slot n is of master n%3.
func threeMasters() (*Cluster, *snapshot) {
	c := &Cluster{opts: Opts{}.withDefaults(), sharded: true}
	l := &topology.Layout{}
	for i := range 3 {
		l.Shards = append(l.Shards, topology.Shard{Master: fmt.Sprintf("m%d:1", i)})
	}
	for i := range l.Slots {
		l.Slots[i] = uint16(i % 3)
	}
	t := newSnapshot(l, func(at topology.Node) *node {
		n := &node{c: c, addr: at.Addr, replica: at.Replica}
		n.links = []*link{upLink(n)}
		return n
	})
	c.topology.Store(t)
	return c, t
}

// All messages of a channel are published on one node: that of its slot, or while that one
// is not connected the next.
func TestPublisher(t *testing.T) {
	_, top := threeMasters()
	assert.Equal(t, "m1:1", top.publisher(4).addr)
	top.shards[1].master.links[0].state.Store(linkConnecting)
	assert.Equal(t, "m1:1", top.publisher(4).addr, "after a failover")
	top.shards[1].master.links[0].state.Store(linkDown)
	assert.Equal(t, "m2:1", top.publisher(4).addr)
	assert.Equal(t, "m2:1", top.publisher(4).addr)
	top.layout.Slots[4] = topology.NoShard
	assert.Equal(t, "m0:1", top.publisher(4).addr, "nobody serves it")
	for _, s := range top.shards {
		s.master.links[0].state.Store(linkDown)
	}
	assert.Nil(t, top.publisher(4))
	assert.Nil(t, (&snapshot{}).publisher(4))
}

func TestSpecOfPublish(t *testing.T) {
	c, top := threeMasters()
	seed := &FairRoundRobinSeed{}
	route := func(cmd string, args ...any) string {
		r, _, err := request.Encode(nil, redis.Req(cmd, args...), true)
		require.NoError(t, err)
		spec, refused := c.specOf(&r, MasterOnly, seed)
		require.Nil(t, refused)
		return top.route(spec).node.addr
	}
	for i := range 10 {
		channel := fmt.Sprint("channel", i)
		want := fmt.Sprintf("m%d:1", slot.Of(channel)%3)
		for _, cmd := range []string{"PUBLISH", "publish", "SPUBLISH", "GET"} {
			args := []any{channel, "x"}
			if cmd == "GET" {
				args = args[:1]
			}
			assert.Equal(t, want, route(cmd, args...), cmd)
		}
	}
	others := map[string]bool{}
	for range 3 {
		others[route("PING")] = true
	}
	assert.Len(t, others, 3, "any master takes the rest")
	r, _, err := request.Encode(nil, redis.Req("PUBLISH"), true)
	require.NoError(t, err)
	spec, refused := c.specOf(&r, MasterOnly, seed)
	require.Nil(t, refused)
	assert.False(t, spec.publishes, "the server refuses it")
}

// Nothing is published to a channel for a while after its slot has another master.
func TestPublishingIsHeldBack(t *testing.T) {
	c, before := threeMasters()
	_, top := threeMasters()
	top.layout.Slots[3], top.layout.Slots[4] = 1, topology.NoShard
	top.published = time.Now().Add(time.Hour) // they ask before the 100 ms are over
	top.handed = top.handedFrom(before)
	require.NotNil(t, top.handed)
	for slot, held := range map[int]bool{3: true, 4: false, 5: false} {
		spec := routeSpec{slot: slot, publishes: true, seed: c.opts.RoundRobinSeed}
		assert.Equal(t, held, top.holdsBack(spec) > 0)
		assert.Equal(t, held, top.route(spec) == nil)
		spec.publishes = false
		assert.NotNil(t, top.route(spec), "other requests go on")
	}
	_, next := threeMasters()
	next.layout.Slots[3] = 1
	next.published = top.published
	assert.True(t, next.handedFrom(top).Has(3), "changes follow each other")
	next.published = top.published.Add(busLag)
	assert.Nil(t, next.handedFrom(top))
	top.published = time.Now().Add(-busLag)
	assert.NotNil(t, top.route(routeSpec{slot: 3, publishes: true, seed: c.opts.RoundRobinSeed}))

	// What waits is sent when it may be.
	tb := sharedCluster(t)
	live, _ := connect(t, tb.Addrs(), calm)
	held := *live.topology.Load()
	held.handed, held.published = &topology.SlotSet{}, time.Now()
	held.handed.Add(slot.Of("channel"))
	live.topology.Store(&held)
	db := redis.Sync{S: live}
	require.NoError(t, redis.AsError(db.Do("PUBLISH", "channel", "x")))
	assert.GreaterOrEqual(t, time.Since(held.published), busLag)
}

// PUBLISH has no key: it goes with any others into a transaction, and into a batch.
func TestPublishWithOthers(t *testing.T) {
	tb := sharedCluster(t)
	c, _ := connect(t, tb.Addrs(), calm)
	ctx := context.Background()
	db := redis.SyncCtx{S: c}
	for i := range 3 {
		channel := fmt.Sprint("channel", i)
		results, err := db.SendTransaction(ctx, []redis.Request{redis.Req("INCR", "{key}n"), redis.Req("PUBLISH", channel, "x")})
		require.NoError(t, err)
		assert.Len(t, results, 2)
		for _, res := range db.SendMany(ctx, []redis.Request{redis.Req("INCR", "{key}n"), redis.Req("PUBLISH", channel, "x")}) {
			assert.NoError(t, redis.AsError(res))
		}
	}
	require.NoError(t, redis.AsError(db.Do(ctx, "DEL", "{key}n")))
}

// A topology knows when it was asked for, and was another one, last.
func TestSinceWhenNodesAreThere(t *testing.T) {
	t.Parallel()
	tb := testbed.NewCluster(t, testbed.ClusterOptions{Replicas: -1, Masters: 2})
	c, _ := connect(t, tb.Addrs(), calm)
	masters, replicas, _, changed := c.PushNodes()
	require.Len(t, masters, 2)
	assert.Empty(t, replicas)
	require.Eventually(t, func() bool { // a burst of changes counts as one
		return time.Since(c.topology.Load().published) > changesBurst
	}, time.Minute, time.Millisecond)
	refreshed := make(chan struct{})
	c.refresher.afterRefresh(func() { close(refreshed) })
	<-refreshed
	before := time.Now()
	added, err := tb.AddMaster()
	require.NoError(t, err)
	require.NoError(t, tb.MoveSlot(0, added))
	c.ForceReloading()
	for {
		<-changed
		var since time.Time
		masters, _, since, changed = c.PushNodes()
		if slices.ContainsFunc(masters, func(conn *redisconn.Connection) bool { return conn.Addr() == added.Addr() }) {
			assert.False(t, since.IsZero())
			assert.WithinRange(t, since, before.Add(-time.Minute), time.Now())
			break
		}
	}
	assert.NotNil(t, c.PushNodeAt(added.Addr()))
	assert.Equal(t, added.Addr(), c.PushNode(0).Addr())
	require.Eventually(t, func() bool { return c.PushNodeOf(0).Addr() == added.Addr() }, time.Minute, time.Millisecond, "once it is connected")
}
