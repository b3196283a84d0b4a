package route

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/rediscluster/internal/topology"
)

// bareNodes returns a function that makes nodes without connections. It returns the same node for the same
// address and role.
func bareNodes() func(topology.Node) *Node {
	nodes := map[topology.Node]*Node{}
	return func(at topology.Node) *Node {
		if nodes[at] == nil {
			nodes[at] = &Node{Addr: at.Addr, Replica: at.Replica}
		}
		return nodes[at]
	}
}

// twoShards returns a layout of two shards and a master without slots.
func twoShards(t *testing.T) *topology.Layout {
	t.Helper()
	at := func(host string) []any { return []any{host, int64(1)} }
	v, err := topology.ParseView("a:1", []any{
		[]any{int64(0), int64(99), at("a"), at("b")},
		[]any{int64(100), int64(199), at("c")},
	}, "dd d:1@2 master - 0 0 1 connected\n")
	require.NoError(t, err)
	l := new(topology.Kin).OfNodes([]topology.View{v})
	require.NotNil(t, l)
	return l
}

func TestSnapshot(t *testing.T) {
	l := twoShards(t)
	get := bareNodes()
	top := New(l, get)
	a, b := get(topology.Node{Addr: "a:1"}), get(topology.Node{Addr: "b:1", Replica: true})
	c, d := get(topology.Node{Addr: "c:1"}), get(topology.Node{Addr: "d:1"})

	assert.Equal(t, []*Node{a, b, c, d}, top.Nodes)
	assert.Same(t, a, top.Shard(99).Master)
	assert.Equal(t, []*Node{a, b}, top.Shard(0).Nodes)
	assert.Same(t, c, top.Shard(100).Master)
	assert.Equal(t, []*Node{c}, top.Shard(100).Nodes)
	assert.Nil(t, top.Shard(200))

	assert.Same(t, b, top.Find("b:1"))
	assert.Same(t, d, top.Find("d:1"), "a member without slots is known")
	assert.Nil(t, top.Find("e:1"))

	assert.True(t, top.Equal(New(l, get)))
	assert.False(t, top.Equal(New(l, bareNodes())))
	l.Slots[50] = 1
	assert.False(t, top.Equal(New(l, get)))
}
