package rediscluster

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/backend"
	"github.com/joomcode/redispipe/internal/lab/drill"
	"github.com/joomcode/redispipe/internal/slot"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster/internal/route"
	"github.com/joomcode/redispipe/rediscluster/internal/topology"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/testbed"
)

// threeMasters returns a topology of three shards, without connections. Master n%3 has slot n.
func threeMasters() (*Cluster, *route.Snapshot) {
	c := &Cluster{opts: Opts{}.withDefaults()}
	c.rules.Sharded = true
	l := &topology.Layout{}
	for i := range 3 {
		l.Shards = append(l.Shards, topology.Shard{Master: fmt.Sprintf("m%d:1", i)})
	}
	for i := range l.Slots {
		l.Slots[i] = uint16(i % 3)
	}
	t := route.New(l, func(at topology.Node) *route.Node {
		n := c.rules.NewNode(at.Addr, at.Replica, "")
		l := route.NewLink(n)
		l.Note(nil, redisconn.LogConnected{})
		n.Links = []*route.Link{l}
		return n
	})
	c.topology.Store(t)
	return c, t
}

func TestSpecOfPublish(t *testing.T) {
	c, top := threeMasters()
	w := &routed{c, MasterOnly.spec(&FairRoundRobinSeed{})}
	master := func(cmd string, args ...any) string {
		r, _, err := backend.Encode(nil, redis.Req(cmd, args...), true)
		require.NoError(t, err)
		var spec routeSpec
		refused := w.specOf(&r, &spec)
		require.Nil(t, refused)
		return top.Route(&spec.Spec).Node.Addr
	}
	for i := range 10 {
		channel := fmt.Sprint("channel", i)
		want := fmt.Sprintf("m%d:1", slot.Of(channel)%3)
		for _, cmd := range []string{"PUBLISH", "publish", "SPUBLISH", "GET"} {
			args := []any{channel, "x"}
			if cmd == "GET" {
				args = args[:1]
			}
			assert.Equal(t, want, master(cmd, args...), cmd)
		}
	}
	others := map[string]bool{}
	for range 3 {
		others[master("PING")] = true
	}
	assert.Len(t, others, 3, "any master takes the rest")
	r, _, err := backend.Encode(nil, redis.Req("PUBLISH"), true)
	require.NoError(t, err)
	var spec routeSpec
	refused := w.specOf(&r, &spec)
	require.Nil(t, refused)
	assert.False(t, spec.Publishes, "the server refuses it")
}

// A PUBLISH that is held back is sent as soon as Snapshot.HoldsBack allows it.
func TestPublishWaits(t *testing.T) {
	tb := sharedCluster(t)
	c, _ := connect(t, tb.Addrs(), calm)
	now := *c.topology.Load()
	at := slot.Of("channel")
	l := now.Layout
	l.Slots[at] = (l.Slots[at] + 1) % 3
	now.Follow(route.New(&l, func(n topology.Node) *route.Node { return now.Find(n.Addr) }), time.Now())
	require.Positive(t, now.HoldsBack(int(at)))
	c.topology.Store(&now)
	require.NoError(t, redis.AsError(redis.Sync{S: c}.Do("PUBLISH", "channel", "x")))
	assert.Zero(t, max(now.HoldsBack(int(at)), 0))
}

// A PUBLISH is held back only for a limited time, even if the master changes again and again.
func TestPublishDoesNotWaitForEver(t *testing.T) {
	tb := sharedCluster(t)
	c, _ := connect(t, tb.Addrs(), calm)
	at := slot.Of("channel")
	change := func() {
		now := c.topology.Load()
		l := now.Layout
		l.Slots[at] = (l.Slots[at] + 1) % 3
		next := route.New(&l, func(n topology.Node) *route.Node { return now.Find(n.Addr) })
		next.Follow(now, time.Now())
		c.topology.Store(next)
	}
	change()
	results := make(chan any, 1)
	c.Send(redis.Req("PUBLISH", "channel", "x"), redis.FuncFuture(func(res any, _ uint64) { results <- res }), 0)
	await(t, "the end of the message", func() bool {
		change()
		return len(results) > 0
	})
	if err := redis.AsErrorx(<-results); err != nil { // otherwise it was sent while the machine stood still
		assert.True(t, err.IsOfType(ErrNoAliveConnection) && err.HasTrait(redis.ErrTraitNotSent), "%v", err)
	}
}

// PUBLISH has no key: it can be combined with any other requests in a transaction or batch.
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

// A topology contains the times when it was last read, and when it last changed.
func TestSinceWhenNodesAreThere(t *testing.T) {
	drill.Rotate(t)
	t.Parallel()
	tb := testbed.NewCluster(t, testbed.ClusterOptions{Replicas: -1, Masters: 2})
	c, _ := connect(t, tb.Addrs(), calm)
	nodes := backend.NodesOf(c)
	changed := nodes.Changed()
	masters, replicas, _ := nodes.All()
	require.Len(t, masters, 2)
	assert.Empty(t, replicas)
	require.Eventually(t, func() bool { // changes within a short time count as one
		return c.topology.Load().Settled()
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
		changed = nodes.Changed()
		masters, _, since = nodes.All()
		if slices.ContainsFunc(masters, func(n backend.Node) bool { return n.Addr() == added.Addr() }) {
			assert.False(t, since.IsZero())
			assert.WithinRange(t, since, before.Add(-time.Minute), time.Now())
			break
		}
	}
	assert.NotNil(t, nodes.MovedTo(nil, added.Addr()))
	assert.Equal(t, added.Addr(), nodes.Master(0).Addr())
	require.Eventually(t, func() bool { return nodes.Publisher(0).Addr() == added.Addr() }, time.Minute, time.Millisecond, "once it is connected")
}
