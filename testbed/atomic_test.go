package testbed

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
)

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
