package testbed

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
)

// fillSlot sets count keys {a}:i and returns their slot and owner.
func fillSlot(t *testing.T, c *Cluster, count int) (slot int, owner *Node) {
	t.Helper()
	slot, err := c.Slot("{a}")
	require.NoError(t, err)
	owner, err = c.Owner(slot)
	require.NoError(t, err)
	for i := range count {
		require.Equal(t, "OK", owner.Do("SET", fmt.Sprintf("{a}:%d", i), i))
	}
	return slot, owner
}

// countIn returns how many keys of a slot a node has.
func countIn(n *Node, slot int) any { return n.Do("CLUSTER COUNTKEYSINSLOT", slot) }

func TestMoveSlot(t *testing.T) {
	t.Parallel()
	c := NewCluster(t, ClusterOptions{Replicas: -1})
	slot, from := fillSlot(t, c, 2*migrateKeys+7)
	to := c.Node(0)
	require.NotSame(t, from, to)
	require.NoError(t, c.MoveSlot(slot, to))
	require.NoError(t, c.MoveSlot(slot, to), "it is there already")
	owner, err := c.Owner(slot)
	require.NoError(t, err)
	assert.Same(t, to, owner)
	assert.Equal(t, int64(2*migrateKeys+7), countIn(to, slot))
	assert.Equal(t, int64(0), countIn(from, slot))
	assert.Equal(t, []byte("9"), to.Do("GET", "{a}:9"))
	assert.True(t, redis.AsErrorx(from.Do("GET", "{a}:9")).IsOfType(redis.ErrMoved))

	_, err = c.BeginMigration(slot, to)
	assert.ErrorContains(t, err, "has it already")
	requireServes(t, c)
}

func TestHalfMovedSlot(t *testing.T) {
	t.Parallel()
	c := NewCluster(t, ClusterOptions{Replicas: -1})
	slot, from := fillSlot(t, c, 5)
	to := c.Node(0)
	m, err := c.BeginMigration(slot, to)
	require.NoError(t, err)
	assert.Equal(t, slot, m.Slot())
	assert.Same(t, from, m.From())
	assert.Same(t, to, m.To())

	// No key has been moved. The source has them, and answers ASK for keys that it does not have.
	assert.Equal(t, []byte("1"), from.Do("GET", "{a}:1"))
	assert.True(t, redis.AsErrorx(from.Do("GET", "{a}:absent")).IsOfType(redis.ErrAsk))
	assert.True(t, redis.AsErrorx(to.Do("GET", "{a}:1")).IsOfType(redis.ErrMoved))

	// Some keys are moved.
	require.NoError(t, m.MoveKeys("{a}:1", "{a}:absent"))
	assert.True(t, redis.AsErrorx(from.Do("GET", "{a}:1")).IsOfType(redis.ErrAsk))
	assert.Equal(t, []byte("1"), get(to, "{a}:1"))
	t.Run("keys on both sides", func(t *testing.T) {
		Needs(t, Version(7, 0)) // older versions answer ASK
		assert.True(t, redis.AsErrorx(from.Do("MGET", "{a}:1", "{a}:2")).IsOfType(redis.ErrTryAgain))
	})
	moved, err := m.MoveSome(2)
	require.NoError(t, err)
	assert.Equal(t, 2, moved)
	assert.Equal(t, []any{int64(2), int64(3)}, []any{countIn(from, slot), countIn(to, slot)})
	assert.Error(t, m.Finish(), "keys are left")

	// After Abort everything is as before.
	require.NoError(t, m.Abort())
	require.NoError(t, c.WaitAgreed())
	assert.Equal(t, []any{int64(5), int64(0)}, []any{countIn(from, slot), countIn(to, slot)})
	assert.Nil(t, from.Do("GET", "{a}:absent"))
	owner, err := c.Owner(slot)
	require.NoError(t, err)
	assert.Same(t, from, owner)

	// Now the slot is moved completely.
	m, err = c.BeginMigration(slot, to)
	require.NoError(t, err)
	require.NoError(t, m.MoveAll())
	require.NoError(t, m.Finish())
	require.NoError(t, c.WaitAgreed())
	assert.Equal(t, []byte("4"), to.Do("GET", "{a}:4"))
}

// A claim with an older epoch would be lost to the next message of the former owner.
func TestFinishClaimsWithNewestEpoch(t *testing.T) {
	t.Parallel()
	c := NewCluster(t, ClusterOptions{Replicas: -1})
	slot, from := fillSlot(t, c, 1)
	to := c.Node(0)
	require.NoError(t, to.call("CLUSTER BUMPEPOCH"))
	require.NoError(t, c.WaitAgreed())
	m, err := c.BeginMigration(slot, to)
	require.NoError(t, err)
	require.NoError(t, from.call("CLUSTER BUMPEPOCH"))
	require.NoError(t, m.MoveAll())
	require.NoError(t, m.Finish())
	assert.Greater(t, ownEpoch(t, to), ownEpoch(t, from))
	require.NoError(t, c.WaitAgreed())
}

// ownEpoch returns the configuration epoch of a node.
func ownEpoch(t *testing.T, n *Node) int {
	t.Helper()
	text, err := n.info("CLUSTER INFO", "cluster_my_epoch")
	require.NoError(t, err)
	epoch, err := strconv.Atoi(text)
	require.NoError(t, err)
	return epoch
}

func TestMoveSlotWhole(t *testing.T) {
	Needs(t, AtomicMigration)
	t.Parallel()
	c := NewCluster(t)
	const keys = 250
	slot, from := fillSlot(t, c, keys)
	to := c.Node(0)
	require.NotSame(t, from, to)
	require.NoError(t, c.MoveSlotWhole(slot, to))
	require.NoError(t, c.MoveSlotWhole(slot, to), "it is there already")
	owner, err := c.Owner(slot)
	require.NoError(t, err)
	assert.Same(t, to, owner)
	assert.Equal(t, int64(keys), countIn(to, slot))
	assert.True(t, redis.AsErrorx(from.Do("GET", "{a}:9")).IsOfType(redis.ErrMoved))
	require.NoError(t, c.MoveSlotWhole(slot, from), "and back")
	requireServes(t, c)
}

func TestMoveSlotWholeRefused(t *testing.T) {
	if has, err := Has(AtomicMigration); err != nil || has {
		t.Skip("the server moves slots whole")
	}
	t.Parallel()
	c := NewCluster(t, ClusterOptions{Replicas: -1})
	slot, _ := fillSlot(t, c, 1)
	assert.Error(t, c.MoveSlotWhole(slot, c.Node(0)))
}
