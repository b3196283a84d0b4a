package rediscluster

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
)

func TestStats(t *testing.T) {
	tb := sharedMasters.of(t)
	c, _ := connect(t, tb.Addrs(), calm)
	s := redis.Sync{S: c}
	require.Equal(t, "OK", s.Do("SET", "key", "value"))
	slot, from := owner(t, tb, "key")
	to := another(t, tb, from)
	require.NoError(t, tb.MoveSlot(slot, to))
	require.Equal(t, []byte("value"), s.Do("GET", "key"))
	awaitOwner(t, c, slot, to)

	stats := c.Stats()
	assert.EqualValues(t, 1, stats.Moved)
	assert.Zero(t, stats.Asked+stats.Retries+stats.Migrating)
	assert.GreaterOrEqual(t, stats.Refreshes, uint64(2))
	assert.Zero(t, stats.Waiting)
	require.Len(t, stats.Nodes, len(tb.Addrs()))
	answered := map[string]uint64{}
	sum := uint64(0)
	for _, n := range stats.Nodes {
		require.NotEmpty(t, n.Conns, n.Addr)
		assert.False(t, n.Replica)
		for _, conn := range n.Conns {
			answered[n.Addr] += conn.Values + conn.Refused
			assert.Equal(t, n.Addr, conn.Addr)
		}
		sum += answered[n.Addr]
	}
	assert.GreaterOrEqual(t, answered[from.Addr()], uint64(2), "SET, and GET that was redirected")
	assert.GreaterOrEqual(t, answered[to.Addr()], uint64(1))
	assert.LessOrEqual(t, sum, stats.Total.Values+stats.Total.Refused)
	assert.GreaterOrEqual(t, stats.Total.Refused, uint64(1), "MOVED")
}
