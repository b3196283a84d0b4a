package rediscluster

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// bareNodes makes nodes without connections, the same for the same address and role.
func bareNodes() nodeFor {
	nodes := map[nodeKey]*node{}
	return func(addr string, replica bool) *node {
		key := nodeKey{addr, replica}
		if nodes[key] == nil {
			nodes[key] = &node{addr: addr, replica: replica}
		}
		return nodes[key]
	}
}

func TestTopology(t *testing.T) {
	l := merge([]view{{asked: "a:1", ranges: []slotsRange{
		{From: 0, To: 99, Addrs: addrs("a:1", "b:1")},
		{From: 100, To: 199, Addrs: addrs("c:1")},
	}}})
	l.others = addrs("d:1")
	l.aliases["10.0.0.1:1"] = "a:1"
	l.migrating[5] = struct{}{}
	get := bareNodes()
	top := newTopology(pinned(l, 130), get)

	assert.Same(t, get("a:1", false), top.shard(99).master)
	assert.Equal(t, []*node{get("a:1", false), get("b:1", true)}, top.shard(0).nodes)
	assert.Same(t, get("c:1", false), top.shard(100).master)
	assert.Nil(t, top.shard(200))

	assert.Same(t, get("b:1", true), top.find("b:1"))
	assert.Same(t, get("d:1", false), top.find("d:1"), "a member without slots is known")
	assert.Same(t, get("a:1", false), top.find("10.0.0.1:1"))
	assert.Nil(t, top.find("e:1"))
	assert.Nil(t, top.find(""))

	assert.True(t, top.masterOnly.has(5))
	assert.True(t, top.masterOnly.has(130))
	assert.False(t, top.masterOnly.has(6))

	assert.True(t, top.equal(newTopology(pinned(l, 130), get)))
	assert.False(t, top.equal(newTopology(l, get)))
	assert.False(t, top.equal(newTopology(pinned(l, 130), bareNodes())))
	other := *l
	other.aliases = map[string]string{"10.0.0.2:1": "a:1"}
	assert.False(t, top.equal(newTopology(pinned(&other, 130), get)), "MOVED may name the alias")
	l.slots[50] = 1
	assert.False(t, top.equal(newTopology(pinned(l, 130), get)))
}

// pinned is the layout with slots that are read from their masters.
func pinned(l *layout, slots ...uint16) *layout {
	with := *l
	with.masterOnly = make(map[uint16]struct{})
	for _, slot := range slots {
		with.masterOnly[slot] = struct{}{}
	}
	return &with
}
