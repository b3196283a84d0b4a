package topology

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/rediscluster/redisclusterutil"
)

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
	for at, owned := range map[int][2]bool{0: {true, false}, 1: {}, 2: {false, true}, -1: {}} {
		h := l.NodeSlots(at)
		assert.Equal(t, owned, [2]bool{h.has(7, false), h.has(8, false)}, at)
		assert.False(t, h.has(9, true))
	}
}
