package rediscluster

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/topology"
)

// bareNodes makes nodes without connections, the same for the same address and role.
func bareNodes() nodeFor {
	nodes := map[topology.Node]*node{}
	return func(at topology.Node) *node {
		if nodes[at] == nil {
			nodes[at] = &node{addr: at.Addr, replica: at.Replica}
		}
		return nodes[at]
	}
}

// twoShards is a layout of two shards, and a member without slots.
func twoShards(t *testing.T) *topology.Layout {
	t.Helper()
	at := func(host string) []any { return []any{host, int64(1)} }
	v, err := topology.ParseView("a:1", []any{
		[]any{int64(0), int64(99), at("a"), at("b")},
		[]any{int64(100), int64(199), at("c")},
	}, "dd d:1@2 master - 0 0 1 connected\n")
	require.NoError(t, err)
	l := topology.Merge([]topology.View{v})
	require.NotNil(t, l)
	return l
}

func TestSnapshot(t *testing.T) {
	l := twoShards(t)
	get := bareNodes()
	top := newSnapshot(l, get)
	a, b := get(topology.Node{Addr: "a:1"}), get(topology.Node{Addr: "b:1", Replica: true})
	c, d := get(topology.Node{Addr: "c:1"}), get(topology.Node{Addr: "d:1"})

	assert.Equal(t, []*node{a, b, c, d}, top.nodes)
	assert.Same(t, a, top.shard(99).master)
	assert.Equal(t, []*node{a, b}, top.shard(0).nodes)
	assert.Same(t, c, top.shard(100).master)
	assert.Equal(t, []*node{c}, top.shard(100).nodes)
	assert.Nil(t, top.shard(200))

	assert.Same(t, b, top.find("b:1"))
	assert.Same(t, d, top.find("d:1"), "a member without slots is known")
	assert.Nil(t, top.find("e:1"))

	assert.True(t, top.equal(newSnapshot(l, get)))
	assert.False(t, top.equal(newSnapshot(l, bareNodes())))
	l.Slots[50] = 1
	assert.False(t, top.equal(newSnapshot(l, get)))
}
