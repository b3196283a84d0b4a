package route

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/backend"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/rediscluster/internal/topology"
	"github.com/joomcode/redispipe/redisconn"
)

// counter is a seed that returns consecutive numbers.
type counter struct{ n atomic.Uint32 }

func (c *counter) Current() uint32 { return c.n.Add(1) }

// upLink returns a link that is up but has no connection.
func upLink(n *Node) *Link {
	l := NewLink(n)
	l.state.Store(linkUp)
	return l
}

// oneShard returns a topology of one shard, without connections.
func oneShard(replicas int) *Snapshot {
	l := &topology.Layout{Shards: []topology.Shard{{Master: "a:1"}}}
	for i := range replicas {
		l.Shards[0].Replicas = append(l.Shards[0].Replicas, fmt.Sprintf("r%d:1", i))
	}
	rules := &Rules{}
	return New(l, func(at topology.Node) *Node {
		n := rules.NewNode(at.Addr, at.Replica, "")
		n.sync.Store(syncLive)
		n.Links = []*Link{upLink(n), upLink(n)}
		return n
	})
}

// threeMasters returns a topology of three shards, without connections. Master n%3 has slot n.
func threeMasters() *Snapshot {
	l := &topology.Layout{}
	for i := range 3 {
		l.Shards = append(l.Shards, topology.Shard{Master: fmt.Sprintf("m%d:1", i)})
	}
	for i := range l.Slots {
		l.Slots[i] = uint16(i % 3)
	}
	rules := &Rules{Sharded: true}
	return New(l, func(at topology.Node) *Node {
		n := rules.NewNode(at.Addr, at.Replica, "")
		n.Links = []*Link{upLink(n)}
		return n
	})
}

// draws routes many reads, and returns how many go to each node.
func draws(top *Snapshot, spec Spec) map[string]int {
	counts := map[string]int{}
	spec.Seed = &counter{}
	for range 700 {
		if l := top.Route(&spec); l != nil {
			counts[l.Node.Addr]++
		}
	}
	return counts
}

var (
	even     = Spec{Replicas: true}
	replicas = Spec{Replicas: true, ReplicaShare: 3}
)

func TestRouteByShare(t *testing.T) {
	top := oneShard(2)
	assert.Equal(t, map[string]int{"a:1": 700}, draws(top, Spec{ReplicaShare: 3}), "writes")
	for addr, n := range draws(top, even) {
		assert.InDelta(t, 233, n, 10, addr)
	}
	counts := draws(top, replicas)
	assert.InDelta(t, 100, counts["a:1"], 10)
	assert.InDelta(t, 300, counts["r0:1"], 10)
	assert.InDelta(t, 300, counts["r1:1"], 10)
}

func TestRouteByState(t *testing.T) {
	top := oneShard(2)
	master, first, second := top.Nodes[0], top.Nodes[1], top.Nodes[2]
	read := func() map[string]int { return draws(top, replicas) }

	first.sync.Store(syncNever)
	counts := read()
	assert.Zero(t, counts["r0:1"], "it never synced")
	assert.NotZero(t, counts["r1:1"])

	second.sync.Store(syncLost)
	assert.Equal(t, map[string]int{"a:1": 700}, read(), "its link is down")

	for _, l := range master.Links {
		l.state.Store(linkDown)
	}
	assert.Equal(t, map[string]int{"r1:1": 700}, read(), "old data is better than none")

	for _, l := range master.Links {
		l.state.Store(linkUp)
	}
	top.Shards[0].failed = true
	assert.NotZero(t, read()["r1:1"], "its master has failed")
	top.Shards[0].failed = false
	for _, l := range master.Links {
		l.state.Store(linkDown)
	}
	first.sync.Store(syncLost)
	avoiding := replicas
	avoiding.Avoid = first.Links[0]
	assert.Equal(t, map[string]int{"r1:1": 700}, draws(top, avoiding), "the other has refused it")
	first.sync.Store(syncNever)

	second.sync.Store(syncNever)
	assert.Empty(t, read(), "nobody is left")
	master.Links[1].state.Store(linkConnecting)
	assert.Equal(t, map[string]int{"a:1": 700}, read(), "it waits for the connection")

	top = oneShard(1)
	top.Layout.MasterOnly.Add(0)
	assert.Equal(t, map[string]int{"a:1": 700}, draws(top, replicas))
	assert.NotZero(t, draws(top, Spec{Replicas: true, Forced: true})["r0:1"])
}

func TestRouteByWeight(t *testing.T) {
	top := oneShard(2)
	top.Nodes[0].Weight.Store(0)
	top.Nodes[1].Weight.Store(0)
	assert.Equal(t, map[string]int{"r1:1": 700}, draws(top, even))
	top.Nodes[2].Weight.Store(0)
	assert.Len(t, draws(top, even), 3, "all zero count as equal")
	top.Nodes[0].Weight.Store(5)
	top.Nodes[1].Weight.Store(2)
	assert.InDelta(t, 500, draws(top, even)["a:1"], 10)
}

// A node of weight zero is not read from while a node in any zone has a weight above zero.
func TestRouteByZoneAndWeight(t *testing.T) {
	top := oneShard(3)
	weigh := func(weights ...uint64) map[string]int {
		for i, w := range weights {
			top.Nodes[i].Weight.Store(w)
		}
		return draws(top, even)
	}
	top.Nodes[1].Local.Store(true)
	top.Nodes[2].Local.Store(true)
	assert.Len(t, weigh(1, 1, 1, 1), 2, "the zone's")
	assert.Equal(t, map[string]int{"r1:1": 700}, weigh(1, 0, 1, 1))
	counts := weigh(1, 0, 0, 1)
	assert.Len(t, counts, 2, "none of the zone has a weight")
	assert.NotZero(t, counts["a:1"])
	assert.NotZero(t, counts["r2:1"])
	counts = weigh(0, 0, 0, 0)
	assert.Len(t, counts, 2, "all zero count as equal, so the zone decides")
	assert.NotZero(t, counts["r0:1"])

	weigh(1, 0, 0, 1)
	top.Nodes[0].rules.Soonest.Store(true)
	for _, n := range top.Nodes {
		n.Links = []*Link{{Node: n, Conn: new(redisconn.Connection)}}
		n.Links[0].state.Store(linkUp)
	}
	counts = draws(top, even)
	assert.Zero(t, counts["a:1"]+counts["r2:1"], "weights mean nothing")
}

func TestRouteAvoids(t *testing.T) {
	top := oneShard(0)
	n := top.Nodes[0]
	seed := FixedSeed(0)
	w := Spec{Seed: seed}
	assert.Same(t, n.Links[0], top.Route(&w))
	w.Avoid = n.Links[0]
	assert.Same(t, n.Links[1], top.Route(&w))
	n.Links[1].state.Store(linkDown)
	assert.Same(t, n.Links[0], top.Route(&w), "there is no other")
	n.Links[0].state.Store(linkDown)
	assert.Nil(t, top.Route(&w))

	n.Links[0].state.Store(linkConnecting)
	n.Links[1].state.Store(linkUp)
	assert.Same(t, n.Links[1], top.Route(&Spec{Seed: seed}))
	assert.Same(t, n.Links[1], top.Route(&Spec{Seed: seed, Slot: send.NoSlot}))
}

func TestConnHostRoundRobin(t *testing.T) {
	top := oneShard(0)
	n := top.Nodes[0]
	assert.Same(t, n.Links[0], n.Pick(FixedSeed(1), nil))
	n.rules.InTurn = true
	assert.Same(t, n.Links[0], n.Pick(FixedSeed(0), nil))
	assert.Same(t, n.Links[1], n.Pick(FixedSeed(1), nil))
	n.Links[1].state.Store(linkDown)
	assert.Same(t, n.Links[0], n.Pick(FixedSeed(1), nil))
}

// All messages of a channel are published on one node: the master of the channel's slot or, while that is
// not connected, the next master.
func TestPublisher(t *testing.T) {
	top := threeMasters()
	assert.Equal(t, "m1:1", top.Publisher(4).Addr)
	top.Shards[1].Master.Links[0].state.Store(linkConnecting)
	assert.Equal(t, "m1:1", top.Publisher(4).Addr, "after a failover")
	top.Shards[1].Master.Links[0].state.Store(linkDown)
	assert.Equal(t, "m2:1", top.Publisher(4).Addr)
	assert.Equal(t, "m2:1", top.Publisher(4).Addr)
	top.Layout.Slots[4] = topology.NoShard
	assert.Equal(t, "m0:1", top.Publisher(4).Addr, "nobody serves it")
	for _, s := range top.Shards {
		s.Master.Links[0].state.Store(linkDown)
	}
	assert.Nil(t, top.Publisher(4))
	assert.Nil(t, (&Snapshot{}).Publisher(4))
}

// For a while after a slot has got another master, nothing is published to the channels of the slot.
func TestPublishingIsHeldBack(t *testing.T) {
	before, top := threeMasters(), threeMasters()
	top.Layout.Slots[3], top.Layout.Slots[4] = 1, topology.NoShard
	top.Follow(before, time.Now())
	require.NotNil(t, top.moved)
	top.published = time.Now().Add(time.Hour) // so that backend.BusLag does not end during the test
	for slot, held := range map[int]bool{3: true, 4: false, 5: false} {
		spec := Spec{Slot: slot, Publishes: true, Seed: FixedSeed(0)}
		assert.Equal(t, held, top.HoldsBack(slot) > 0)
		assert.Equal(t, held, top.Route(&spec) == nil)
		spec.Publishes = false
		assert.NotNil(t, top.Route(&spec), "other requests go on")
	}
	next := threeMasters()
	next.Layout.Slots[3] = 1
	next.published = top.published
	assert.True(t, next.movedSince(top).Has(3), "changes follow each other")
	next.published = top.published.Add(backend.BusLag)
	assert.Nil(t, next.movedSince(top))
	top.published = time.Now().Add(-backend.BusLag)
	assert.NotNil(t, top.Route(&Spec{Slot: 3, Publishes: true, Seed: FixedSeed(0)}))
}

func TestChoose(t *testing.T) {
	const draws = 10000
	cases := []struct {
		name    string
		weights []uint64
		shares  []float64
	}{
		{"one", []uint64{5}, []float64{1}},
		{"even", []uint64{1, 1}, []float64{0.5, 0.5}},
		{"replicas preferred", []uint64{1, 3, 3}, []float64{1. / 7, 3. / 7, 3. / 7}},
		{"zero is not drawn", []uint64{0, 1, 0}, []float64{0, 1, 0}},
		{"all zero count as equal", []uint64{0, 0, 0, 0}, []float64{0.25, 0.25, 0.25, 0.25}},
		{"large", []uint64{3 * 100 << 32, 100 << 32}, []float64{0.75, 0.25}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			counts := make([]int, len(c.weights))
			for seed := range uint32(draws) {
				counts[choose(c.weights, seed)]++
			}
			for i, share := range c.shares {
				assert.InDelta(t, share*draws, counts[i], draws/100, "index %d", i)
			}
		})
	}
}

func TestLatencyShare(t *testing.T) {
	assert.Equal(t, uint64(100), latencyShare(10, 10))
	assert.Equal(t, uint64(25), latencyShare(10, 40))
	assert.Equal(t, uint64(1), latencyShare(10, 100000))
}

// Requests are spread evenly over all connections, even if the seed also chooses among several nodes.
func TestAllConnectionsAreUsed(t *testing.T) {
	shard, cluster := oneShard(1), threeMasters()
	cluster.Shards = cluster.Shards[:2]
	for _, n := range cluster.Nodes {
		n.Links = append(n.Links, upLink(n))
	}
	for name, tt := range map[string]struct {
		top  *Snapshot
		spec Spec
	}{
		"reads":    {shard, even},
		"keyless":  {cluster, Spec{Slot: send.NoSlot}},
		"requests": {shard, Spec{}},
	} {
		tt.top.Nodes[0].rules.InTurn = true
		used, seed := map[*Link]int{}, &counter{}
		for range 1000 {
			spec := tt.spec
			spec.Seed = seed
			used[tt.top.Route(&spec)]++
		}
		want := 4
		if name == "requests" {
			want = 2
		}
		assert.Len(t, used, want, name)
		for _, n := range used {
			assert.InDelta(t, 1000/want, n, 10, name)
		}
	}
}

// A refused request goes to each node that may answer it once, and to no other node.
func TestAnother(t *testing.T) {
	for replicas := range 3 {
		top := oneShard(replicas)
		spec := Spec{Replicas: true, Seed: &counter{}}
		first := top.Route(&spec)
		spec.Full, spec.Avoid = first.Node, first
		second := top.Another(&spec)
		if replicas == 0 {
			require.Nil(t, second)
			continue
		}
		require.NotEqual(t, first.Node, second.Node)
		spec.Avoid = second
		third := top.Another(&spec)
		if replicas == 1 {
			require.Nil(t, third)
			continue
		}
		require.NotContains(t, []*Node{first.Node, second.Node}, third.Node)
	}

	top := oneShard(2)
	write := Spec{Seed: &counter{}, Avoid: top.Shards[0].Master.Links[0]}
	assert.Nil(t, top.Another(&write), "only the master may take it")

	top = threeMasters()
	keyless := Spec{Slot: send.NoSlot, Seed: &counter{}, Avoid: top.Shards[0].Master.Links[0], Full: top.Shards[1].Master}
	for range 6 {
		require.Equal(t, top.Shards[2].Master, top.Another(&keyless).Node)
	}
	keyless.Avoid = top.Shards[2].Master.Links[0]
	top.Shards[0].Master.Links[0].state.Store(linkDown)
	assert.Nil(t, top.Another(&keyless), "the others are not up")
}
