package rediscluster

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/rediscluster/redisclusterutil"
)

// held makes holdings of the slots 0 to 2: 'o' owned, '>' owned and leaving for
// the other node, '<' coming.
func held(states string) *holdings {
	h := &holdings{leaving: map[uint16]string{}}
	for i, state := range states {
		slot := uint16(i)
		switch state {
		case 'o':
			h.owned.add(slot)
		case '>':
			h.owned.add(slot)
			h.leaving[slot] = "b:1"
		case '<':
			h.coming.add(slot)
		}
	}
	return h
}

func TestCoverage(t *testing.T) {
	a, b := &node{addr: "a:1"}, &node{addr: "b:1"}
	topology := &topology{shards: []*shard{{master: a}, {master: b}}, nodes: []*node{a, b}}
	for slot := range topology.slots {
		topology.slots[slot] = noShard
	}
	for _, slot := range []int{0, 1, 2} {
		topology.slots[slot] = 0
	}
	for _, c := range []struct {
		name          string
		before, after string // of a's walk
		covered       string // of the three slots: x
		inherited     string // what is asked of b afterwards
		bBefore, bNow string
		then          string
	}{
		{name: "all stay", before: "ooo", after: "ooo", covered: "xxx"},
		{name: "one leaves during the walk", before: "ooo", after: "o-o", covered: "x-x"},
		{name: "one comes during the walk", before: "o-o", after: "ooo", covered: "x-x"},
		{name: "one is taken back", before: "o>o", after: "ooo", covered: "x-x"},
		{name: "no master any more", before: "ooo", after: "---", covered: "---"},
		{name: "half-way", before: "o>o", after: "o>o", covered: "x-x", inherited: "-x-", bBefore: "-<-", bNow: "-<-", then: "xxx"},
		{name: "begins, then ends", before: "ooo", after: "o>o", covered: "x-x", inherited: "-x-", bBefore: "-<-", bNow: "-o-", then: "xxx"},
		{name: "begins, is taken back", before: "ooo", after: "o>o", covered: "x-x", inherited: "-x-", bBefore: "-<-", bNow: "---", then: "x-x"},
		{name: "goes on to a third", before: "ooo", after: "o>o", covered: "x-x", inherited: "-x-", bBefore: "-o-", bNow: "->-", then: "x-x"},
	} {
		cov := newCoverage(topology)
		shape := func() (s string) {
			for slot := range 3 {
				s += map[bool]string{true: "-", false: "x"}[cov.left.has(slot)]
			}
			return s
		}
		slot, n := cov.target(topology)
		assert.Zero(t, slot)
		assert.Same(t, a, n)
		assert.Equal(t, c.covered != "---", cov.walked(topology, a, held(c.before), held(c.after)), c.name)
		assert.Equal(t, c.covered, shape(), c.name)
		if c.inherited == "" {
			_, n = cov.target(topology)
			assert.Nil(t, n, "%s: a is walked again only in another round", c.name)
			assert.Equal(t, c.covered == "xxx", cov.newRound(), c.name)
			continue
		}
		slot, n = cov.target(topology)
		assert.Equal(t, 1, slot)
		assert.Same(t, b, n)
		assert.Equal(t, c.then == "xxx", cov.walked(topology, b, held(c.bBefore), held(c.bNow)), c.name)
		assert.Equal(t, c.then, shape(), c.name)
		assert.Equal(t, c.then == "xxx", cov.newRound(), c.name)
	}
}

func TestHoldings(t *testing.T) {
	nodes, err := redisclusterutil.ParseClusterNodes("aa 10.0.0.1:1@2 myself,master - 0 0 1 connected 0-2 7 [7->-bb] [9-<-bb] [2->-cc]\n" +
		"bb 10.0.0.2:1@2 master - 0 0 1 connected 9\n")
	require.NoError(t, err)
	h := newHoldings(nodes)
	assert.True(t, h.has(9, true))
	for slot, owned := range map[int]bool{0: true, 2: true, 3: false, 7: true, 9: false} {
		assert.Equal(t, owned, h.owned.has(slot), slot)
	}
	assert.True(t, h.coming.has(9))
	assert.Equal(t, map[uint16]string{7: "10.0.0.2:1"}, h.leaving)
	for _, none := range []string{"", "aa 10.0.0.1:1@2 myself,slave bb 0 0 1 connected\n", "bb 10.0.0.2:1@2 master - 0 0 1 connected 9\n"} {
		nodes, err := redisclusterutil.ParseClusterNodes(none)
		require.NoError(t, err)
		assert.Equal(t, slotSet{}, newHoldings(nodes).owned)
	}
}
