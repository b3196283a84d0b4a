package route

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestMoves(t *testing.T) {
	var m Moves
	all := func(int) bool { return true }
	began := time.Now()
	m.Settle(began, all)
	assert.False(t, m.Has(7))
	m.Meet(7)
	m.Meet(8)
	assert.True(t, m.Has(7))
	assert.False(t, m.Has(9))
	m.Settle(began, all)
	assert.True(t, m.Has(7), "it was met after the topology began to be read")
	later := time.Now().Add(time.Hour)
	m.Settle(later, func(slot int) bool { return slot == 8 })
	assert.True(t, m.Has(7))
	assert.False(t, m.Has(8))
	m.Meet(8)
	m.Settle(later, all)
	assert.False(t, m.Has(7))
	assert.Nil(t, m.slots.Load())
}

// A replica does not answer ASK for keys that were already moved, so reads of a moving slot go to
// the master.
func TestRouteOnTheMove(t *testing.T) {
	top := oneShard(1)
	moves := &top.Nodes[0].rules.Moves
	forced := Spec{Replicas: true, Forced: true, ReplicaShare: 3}
	moves.Meet(1)
	assert.NotZero(t, draws(top, replicas)["r0:1"], "another slot")
	moves.Meet(0)
	assert.Equal(t, map[string]int{"a:1": 700}, draws(top, replicas))
	assert.Equal(t, map[string]int{"a:1": 700}, draws(top, forced))
}
