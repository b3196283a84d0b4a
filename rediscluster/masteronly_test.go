package rediscluster

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster/redisclusterutil"
	"github.com/joomcode/redispipe/redistest/chaos"
	"github.com/joomcode/redispipe/testbed"
)

func TestMasterOnlySlots(t *testing.T) {
	tb := sharedCluster(t)
	slot, master := owner(t, tb, "key")
	slave := replica(t, tb, master)
	c, rec := connect(t, tb.Addrs(), Opts{CheckInterval: 100 * time.Millisecond, WeightProvider: hosts{master.Addr(): 0}})
	s := redis.Sync{S: c.WithPolicy(MasterAndSlaves)}
	require.Equal(t, "OK", s.Do("SET", "key", "value"))
	awaitReplica(t, c, slave)
	goesTo := func(n *testbed.Node) func() bool {
		return func() bool {
			rec.take()
			require.NoError(t, redis.AsError(s.Do("GET", "key")))
			answers, _ := rec.take()
			return answers[n.Addr()] == 1
		}
	}
	await(t, "to the replica", goesTo(slave))
	require.NoError(t, redisclusterutil.SetMasterOnly(c, "", []uint16{uint16(slot)}))
	await(t, "to the master", goesTo(master))
	require.NoError(t, redisclusterutil.UnsetMasterOnly(c, "", []uint16{uint16(slot)}))
	await(t, "to the replica", goesTo(slave))

	// The same holds while the slot is moving, because replicas do not answer ASK.
	m, err := tb.BeginMigration(slot, another(t, tb, master))
	require.NoError(t, err)
	await(t, "to the master", goesTo(master))
	require.NoError(t, m.Abort())
	await(t, "to the replica", goesTo(slave))
}

// If the user may not read the key of the master-only slots, the cluster asks each node for it just once.
func TestMasterOnlyWithoutTheRight(t *testing.T) {
	node := newScriptedNode(t, chaos.ScriptedReplies("+OK\r\n"))
	node.refuses.Store(true)
	c, _ := connect(t, []string{node.Addr()}, Opts{CheckInterval: time.Minute})
	refreshed := func() {
		done := make(chan struct{})
		c.refresher.afterRefresh(func() { close(done) })
		<-done
	}
	await(t, "connection", c.topology.Load().Shards[0].Master.Up)
	for range 3 {
		refreshed()
	}
	assert.Equal(t, int64(1), node.members.Load())
}

func TestMasterOnlyKeepsWhatWasTold(t *testing.T) {
	_, top := threeMasters()
	var m masterOnly
	n := top.Shards[masterOnlySlot%3].Master
	m.hear(n, []any{[]byte("7")})
	m.hear(n, redis.ErrLoading.New("LOADING"))
	assert.Equal(t, map[uint16]struct{}{7: {}}, m.slots)
	assert.Nil(t, m.refused)
	m.mark(&top.Layout)
	assert.True(t, top.Layout.MasterOnly.Has(7))
	m.hear(n, redis.ErrResult.New("NOPERM no"))
	assert.Same(t, n, m.refused)
}
