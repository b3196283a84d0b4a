package topology

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/rediscluster/redisclusterutil"
)

type (
	slotsRange = redisclusterutil.SlotsRange
	infos      = redisclusterutil.InstanceInfos
	info       = redisclusterutil.InstanceInfo
)

func addrs(a ...string) []string { return a }

func member(id, host string, port int, epoch uint64) info {
	return info{Uuid: id, IP: host, Port: port, Addr: redisclusterutilAddr(host, port), ConfigEpoch: epoch, Connected: true}
}

func redisclusterutilAddr(host string, port int) string {
	r, err := redisclusterutil.ParseSlotsInfo([]any{[]any{int64(0), int64(0), []any{host, int64(port)}}})
	if err != nil {
		panic(err)
	}
	return r[0].Addrs[0]
}

func replicaOf(master string, i info) info {
	i.SlaveOf = master
	return i
}

func myself(i info) info {
	i.MySelf = true
	return i
}

func TestMerge(t *testing.T) {
	l := merge([]View{{
		asked: "a:1",
		ranges: []slotsRange{
			{From: 0, To: 99, Addrs: addrs("a:1", "c:1")},
			{From: 200, To: 16383, Addrs: addrs("b:1", "d:1", "e:1")},
			{From: 100, To: 149, Addrs: addrs("a:1", "c:1", "f:1")},
		},
	}})
	require.NotNil(t, l)
	want := []Shard{{"a:1", addrs("c:1", "f:1")}, {"b:1", addrs("d:1", "e:1")}}
	assert.Equal(t, want, l.Shards)
	for slot, shard := range map[int]uint16{0: 0, 99: 0, 100: 0, 149: 0, 150: NoShard, 199: NoShard, 200: 1, 16383: 1} {
		assert.Equal(t, shard, l.Slots[slot], "slot %d", slot)
	}
	assert.Nil(t, merge(nil))
	assert.Nil(t, merge([]View{{asked: "a:1"}}))
}

func TestMergeNewestEpochCounts(t *testing.T) {
	before := View{
		asked:  "a:1",
		ranges: []slotsRange{{From: 0, To: 99, Addrs: addrs("a:1")}, {From: 100, To: 199, Addrs: addrs("b:1")}},
		nodes:  infos{myself(member("a", "a", 1, 1)), member("b", "b", 1, 2)},
	}
	after := View{
		asked:  "b:1",
		ranges: []slotsRange{{From: 0, To: 49, Addrs: addrs("a:1")}, {From: 50, To: 199, Addrs: addrs("b:1")}},
		nodes:  infos{member("a", "a", 1, 1), myself(member("b", "b", 1, 3))},
	}
	for _, views := range [][]View{{before, after}, {after, before}} {
		l := merge(views)
		require.Len(t, l.Shards, 2)
		assert.Equal(t, "a:1", l.Shards[l.Slots[49]].Master)
		assert.Equal(t, "b:1", l.Shards[l.Slots[50]].Master)
		assert.Equal(t, "b:1", l.Shards[l.Slots[99]].Master)
	}
}

func TestMergeOwnClaimCountsAmongEqual(t *testing.T) {
	// Without CLUSTER NODES there are no epochs. Then a master's claim to its own slots counts.
	old := View{asked: "c:1", ranges: []slotsRange{{From: 0, To: 9, Addrs: addrs("a:1")}}}
	own := View{asked: "b:1", ranges: []slotsRange{{From: 0, To: 9, Addrs: addrs("b:1")}}}
	for _, views := range [][]View{{old, own}, {own, old}} {
		assert.Equal(t, []Shard{{Master: "b:1"}}, merge(views).Shards)
	}
}

func TestMergeEmptyHost(t *testing.T) {
	views := []View{{
		asked:  "10.0.0.1:7000",
		ranges: []slotsRange{{From: 0, To: 9, Addrs: addrs(":7000", ":7001"), AddrHostnames: map[string]string{":7000": "x:7000"}, AddrZones: map[string]string{":7001": "zone"}}},
		nodes:  infos{myself(member("a", "", 7000, 1))},
	}, {
		asked:  "[::1]:7002",
		ranges: []slotsRange{{From: 10, To: 19, Addrs: addrs(":7002")}},
	}}
	for _, v := range views {
		v.addHosts()
	}
	l := merge(views)
	want := []Shard{{"10.0.0.1:7000", addrs("10.0.0.1:7001")}, {"[::1]:7002", nil}}
	assert.Equal(t, want, l.Shards)
	assert.Equal(t, "x", l.Hostnames["10.0.0.1:7000"])
	assert.Equal(t, map[string]string{"10.0.0.1:7001": "zone"}, l.Zones)
	assert.Empty(t, l.others)
}

// If a range has no master, its first node is a replica, and must not be taken for the master.
func TestMergeWithoutMaster(t *testing.T) {
	l := merge([]View{{
		asked:  "10.0.0.1:7000",
		ranges: []slotsRange{{From: 0, To: 9, Addrs: addrs("10.0.0.1:7000")}, {From: 10, To: 19, Addrs: addrs("10.0.0.2:7000")}, {From: 20, To: 29}},
		nodes:  infos{member("a", "10.0.0.1", 7000, 1), replicaOf("x", member("b", "10.0.0.2", 7000, 1))},
	}})
	require.Len(t, l.Shards, 1)
	assert.Equal(t, uint16(0), l.Slots[9])
	assert.Equal(t, uint16(NoShard), l.Slots[10])
	assert.Equal(t, uint16(NoShard), l.Slots[20])
}

func TestMergeNodes(t *testing.T) {
	failed := replicaOf("a", member("g", "g", 1, 1))
	failed.Fail = true
	stranger := member("h", "h", 1, 0)
	stranger.Connected = false
	moving := myself(member("a", "a", 1, 1))
	moving.Migrating = []redisclusterutil.SlotMigration{{Number: 7, Moving: redisclusterutil.SlotMigrating, Peer: "f"}}
	l := merge([]View{{
		asked:  "a:1",
		ranges: []slotsRange{{From: 0, To: 16383, Addrs: addrs("a:1", "b:1")}},
		nodes: infos{
			moving,
			replicaOf("a", member("b", "b", 1, 1)),
			replicaOf("a", member("c", "c", 1, 1)), // missing in CLUSTER SLOTS, because nothing was written yet
			member("f", "f", 1, 0),                 // has no slots yet
			failed, stranger,
		},
	}})
	assert.Equal(t, []Shard{{"a:1", addrs("b:1", "c:1")}}, l.Shards)
	assert.Equal(t, addrs("f:1"), l.others)
	assert.True(t, l.OnMove.Has(7))
	assert.False(t, l.OnMove.Has(6))
	assert.True(t, l.Stable.Has(6))
	assert.False(t, l.Stable.Has(7))
}

// A master has failed if CLUSTER NODES marks all nodes with its address as failed.
func TestMergeFailedMaster(t *testing.T) {
	failed, former := member("a", "a", 1, 1), member("z", "a", 1, 0)
	failed.Fail, former.Fail = true, true
	for name, tt := range map[string]struct {
		nodes infos
		want  bool
	}{
		"failed":   {infos{failed, myself(replicaOf("a", member("b", "b", 1, 1)))}, true},
		"well":     {infos{myself(member("a", "a", 1, 1))}, false},
		"identity": {infos{myself(member("a", "a", 1, 1)), former}, false},
		"unknown":  {nil, false},
	} {
		l := merge([]View{{asked: "b:1", ranges: []slotsRange{{From: 0, To: 16383, Addrs: addrs("a:1", "b:1")}}, nodes: tt.nodes}})
		assert.Equal(t, tt.want, l.Failed["a:1"], name)
	}
}

// Only a slot's master knows that the slot is stable, and only CLUSTER NODES shows it.
func TestMergeStable(t *testing.T) {
	ranges := func() []slotsRange { return []slotsRange{{From: 0, To: 16383, Addrs: addrs("a:1")}} }
	a, b := member("a", "a", 1, 1), member("b", "b", 1, 1)
	of := View{asked: "a:1", ranges: ranges(), nodes: infos{myself(a), b}}
	other := View{asked: "b:1", ranges: ranges(), nodes: infos{a, myself(b)}}
	silent := View{asked: "a:1", ranges: ranges()}
	for name, tt := range map[string]struct {
		views []View
		want  bool
	}{
		"its master":               {[]View{of}, true},
		"its master and another":   {[]View{other, of}, true},
		"another":                  {[]View{other}, false},
		"its master, by its slots": {[]View{silent}, false},
	} {
		l := merge(tt.views)
		assert.Equal(t, tt.want, l.Stable.Has(0), name)
		assert.Equal(t, tt.want, l.Stable.Has(16383), name)
	}
}

func TestMergeHostnames(t *testing.T) {
	master, replica := myself(member("a", "10.0.0.1", 7000, 1)), replicaOf("a", member("b", "10.0.0.2", 7000, 1))
	master.Hostname, replica.Hostname = "a.example", "b.example"
	l := merge([]View{{
		asked:  "10.0.0.1:7000",
		ranges: []slotsRange{{From: 0, To: 9, Addrs: addrs("a.example:7000")}},
		nodes:  infos{master, replica},
	}})
	assert.Equal(t, []Shard{{"a.example:7000", addrs("b.example:7000")}}, l.Shards)
	assert.Empty(t, l.others, "a node of two names is one node")
	assert.Equal(t, "a.example", l.Hostnames["10.0.0.1:7000"])
	assert.Equal(t, "a.example:7000", l.aliases["10.0.0.1:7000"])
	assert.Equal(t, "10.0.0.1:7000", l.aliases["a.example:7000"])
}

// Slots may be scattered over thousands of ranges. merge looks up the master of each range in constant
// time.
func TestMergeManyRangesOfNodesWithHostnames(t *testing.T) {
	const nodes, ranges = 100, 1000
	v := View{asked: "a:1"}
	for i := range nodes {
		n := member(fmt.Sprint(i), fmt.Sprintf("10.0.0.%d", i), 1, uint64(i))
		n.Hostname = fmt.Sprintf("host-%d", i)
		v.nodes = append(v.nodes, n)
	}
	for i := range ranges {
		v.ranges = append(v.ranges, slotsRange{From: i, To: i, Addrs: addrs(v.nodes[i%nodes].Addr)})
	}
	require.Len(t, merge([]View{v}).Shards, nodes)
	allocs := testing.AllocsPerRun(1, func() { merge([]View{v}) })
	assert.Less(t, allocs, float64(nodes*ranges/10), "not one for each node of each range")
}

// The address of a node that is gone may now lead to a node of another cluster. The client ignores that
// node, no matter how great the epochs of the other cluster are.
func TestChooseLeavesOutAnotherCluster(t *testing.T) {
	stranger := View{
		asked:  "b:1",
		ranges: []slotsRange{{From: 0, To: 16383, Addrs: addrs("b:1", "y:1")}},
		nodes:  infos{myself(member("x", "b", 1, 100)), replicaOf("x", member("y", "y", 1, 100)), member("z", "z", 1, 0)},
	}
	all := []slotsRange{{From: 0, To: 8191, Addrs: addrs("a:1")}, {From: 8192, To: 16383, Addrs: addrs("c:1", "b:1")}}
	gone := replicaOf("c", member("b", "b", 1, 3))
	one := View{asked: "a:1", ranges: all, nodes: infos{myself(member("a", "a", 1, 2)), gone, member("c", "c", 1, 3)}}
	two := View{asked: "c:1", ranges: all, nodes: infos{member("a", "a", 1, 2), gone, myself(member("c", "c", 1, 3))}}
	// A node that has moved to another cluster and kept its ID is still known to the nodes of its former
	// cluster.
	moved := View{asked: "b:1", ranges: stranger.ranges, nodes: infos{myself(member("b", "b", 1, 100)), stranger.nodes[1], stranger.nodes[2]}}
	untold := View{asked: "d:1", ranges: all}
	for name, views := range map[string][]View{
		"first": {stranger, one, two}, "last": {one, two, stranger}, "with its ID": {one, moved, two}, "beside one without nodes": {stranger, untold, one},
	} {
		t.Run(name, func(t *testing.T) {
			l := merge(choose(views, memory{"a": true, "c": true}))
			require.NotNil(t, l)
			assert.Equal(t, []Shard{{Master: "a:1"}, {"c:1", addrs("b:1")}}, l.Shards)
			assert.Empty(t, l.others)
		})
	}
}

// A node that was started again with a new ID and the same hostname counts as another node. CLUSTER NODES
// lists its former ID as a failed replica. The new node counts, no matter in which order the two are
// listed.
func TestMergeNodeWithAnotherID(t *testing.T) {
	former, now, other := replicaOf("b", member("old", "10.0.0.1", 7000, 1)), member("new", "10.0.0.2", 7000, 5), myself(member("b", "10.0.0.3", 7000, 4))
	former.Fail = true
	former.Hostname, now.Hostname, other.Hostname = "a.example", "a.example", "b.example"
	for _, nodes := range []infos{{former, now, other}, {other, now, former}} {
		l := merge([]View{{
			asked:  "10.0.0.3:7000",
			ranges: []slotsRange{{From: 0, To: 16383, Addrs: addrs("a.example:7000")}},
			nodes:  nodes,
		}})
		require.NotNil(t, l, "the master counts as one")
		assert.Equal(t, []Shard{{Master: "a.example:7000"}}, l.Shards)
		assert.Equal(t, 0, l.Find("10.0.0.2:7000"))
		assert.Equal(t, "10.0.0.2:7000", l.aliases["a.example:7000"])
	}
}
