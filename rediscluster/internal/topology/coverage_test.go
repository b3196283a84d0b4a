package topology

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/rediscluster/redisclusterutil"
)

// held makes NodeSlots from the states of the slots 0 to 2: 'o' is owned, '>' is owned and moving to the
// other node, '<' is being imported.
func held(states string) *NodeSlots {
	h := &NodeSlots{leaving: map[uint16]string{}}
	for i, state := range states {
		slot := uint16(i)
		switch state {
		case 'o':
			h.owned.Add(slot)
		case '>':
			h.owned.Add(slot)
			h.leaving[slot] = "b:1"
		case '<':
			h.coming.Add(slot)
		}
	}
	return h
}

func TestCoverage(t *testing.T) {
	l := Empty()
	l.Shards = []Shard{{Master: "a:1"}, {Master: "b:1"}}
	const a, b = "a:1", "b:1"
	for _, slot := range []int{0, 1, 2} {
		l.Slots[slot] = 0
	}
	for _, c := range []struct {
		name          string
		before, after string // a's slots before and after the walk of a
		covered       string // x for each of the three slots that is covered
		importing     string // the slots for which b must be walked afterwards
		bBefore, bNow string
		then          string
	}{
		{name: "all stay", before: "ooo", after: "ooo", covered: "xxx"},
		{name: "one leaves during the walk", before: "ooo", after: "o-o", covered: "x-x"},
		{name: "one comes during the walk", before: "o-o", after: "ooo", covered: "x-x"},
		{name: "one is taken back", before: "o>o", after: "ooo", covered: "x-x"},
		{name: "no master any more", before: "ooo", after: "---", covered: "---"},
		{name: "half-way", before: "o>o", after: "o>o", covered: "x-x", importing: "-x-", bBefore: "-<-", bNow: "-<-", then: "xxx"},
		{name: "begins, then ends", before: "ooo", after: "o>o", covered: "x-x", importing: "-x-", bBefore: "-<-", bNow: "-o-", then: "xxx"},
		{name: "begins, is taken back", before: "ooo", after: "o>o", covered: "x-x", importing: "-x-", bBefore: "-<-", bNow: "---", then: "x-x"},
		{name: "goes on to a third", before: "ooo", after: "o>o", covered: "x-x", importing: "-x-", bBefore: "-o-", bNow: "->-", then: "x-x"},
	} {
		cov := NewCoverage(l)
		shape := func() (s string) {
			for slot := range 3 {
				s += map[bool]string{true: "-", false: "x"}[cov.left.Has(slot)]
			}
			return s
		}
		slot, addr := cov.Target(l)
		assert.Zero(t, slot)
		assert.Equal(t, a, addr)
		assert.Equal(t, c.covered != "---", cov.Walked(l, a, held(c.before), held(c.after)), c.name)
		assert.Equal(t, c.covered, shape(), c.name)
		if c.importing == "" {
			slot, _ = cov.Target(l)
			assert.Equal(t, -1, slot, "%s: a is walked again only in another round", c.name)
			assert.Equal(t, c.covered == "xxx", cov.NewRound(), c.name)
			continue
		}
		slot, addr = cov.Target(l)
		assert.Equal(t, 1, slot)
		assert.Equal(t, b, addr)
		assert.Equal(t, c.then == "xxx", cov.Walked(l, b, held(c.bBefore), held(c.bNow)), c.name)
		assert.Equal(t, c.then, shape(), c.name)
		assert.Equal(t, c.then == "xxx", cov.NewRound(), c.name)
	}
}

func TestNodeSlots(t *testing.T) {
	nodes, err := redisclusterutil.ParseClusterNodes("aa 10.0.0.1:1@2 myself,master - 0 0 1 connected 0-2 7 [7->-bb] [9-<-bb] [2->-cc]\n" +
		"bb 10.0.0.2:1@2 master - 0 0 1 connected 9\n")
	require.NoError(t, err)
	h := NodeSlotsOf(nodes)
	assert.True(t, h.has(9, true))
	for slot, owned := range map[int]bool{0: true, 2: true, 3: false, 7: true, 9: false} {
		assert.Equal(t, owned, h.owned.Has(slot), slot)
	}
	assert.True(t, h.coming.Has(9))
	assert.Equal(t, map[uint16]string{7: "10.0.0.2:1"}, h.leaving)
	for _, none := range []string{"", "aa 10.0.0.1:1@2 myself,slave bb 0 0 1 connected\n", "bb 10.0.0.2:1@2 master - 0 0 1 connected 9\n"} {
		nodes, err := redisclusterutil.ParseClusterNodes(none)
		require.NoError(t, err)
		assert.Equal(t, SlotSet{}, NodeSlotsOf(nodes).owned)
	}
}

func TestNodeSlotsOfTheLayout(t *testing.T) {
	l := Empty()
	l.Shards = []Shard{{"a:1", addrs("b:1")}, {Master: "c:1"}}
	l.Slots[7], l.Slots[8] = 0, 1
	for addr, owned := range map[string][2]bool{"a:1": {true, false}, "b:1": {}, "c:1": {false, true}, "": {}} {
		h := l.NodeSlots(addr)
		assert.Equal(t, owned, [2]bool{h.has(7, false), h.has(8, false)}, addr)
		assert.False(t, h.has(9, true))
	}
}

// If a migration was given up and its target has left the cluster, the scan walks the owner of the slot.
func TestCoverageOfAnImporterThatLeaves(t *testing.T) {
	two := Empty()
	two.Shards = []Shard{{Master: "a:1"}, {Master: "b:1"}}
	one := Empty()
	one.Shards = []Shard{{Master: "a:1"}}
	for i := range two.Slots {
		two.Slots[i], one.Slots[i] = 0, 0
	}
	c := NewCoverage(two)
	_, addr := c.Target(two)
	after := two.NodeSlots(addr)
	after.leaving = map[uint16]string{5: "b:1"}
	require.True(t, c.Walked(two, addr, two.NodeSlots(addr), after))
	require.True(t, c.Left(5))

	require.False(t, c.NewRound())
	slot, addr := c.Target(one)
	require.Equal(t, 5, slot)
	require.Equal(t, "a:1", addr)
	require.True(t, c.Walked(one, addr, one.NodeSlots(addr), one.NodeSlots(addr)))
	require.True(t, c.NewRound())
}

// If the target of a migration has failed, the keys that were moved can't be reached. The scan walks the
// slot once in each round.
func TestCoverageOfAnImporterThatFails(t *testing.T) {
	l := Empty()
	l.Shards = []Shard{{Master: "a:1"}}
	l.Slots[5] = 0
	c := NewCoverage(l)
	_, addr := c.Target(l)
	require.Equal(t, "a:1", addr)
	slots := l.NodeSlots(addr)
	slots.leaving = map[uint16]string{5: "b:1"}
	require.False(t, c.Walked(l, addr, slots, slots))
	slot, _ := c.Target(l)
	require.Equal(t, -1, slot, "the end of the round")
	require.False(t, c.NewRound())
}
