package rediscluster

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/topology"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/testbed"
)

// upLink is a link that is up, without a connection.
func upLink(n *node) *link {
	l := &link{node: n}
	l.state.Store(linkUp)
	return l
}

// bareCluster is a topology of one shard, without connections.
func bareCluster(replicas int) (*Cluster, *snapshot) {
	c := &Cluster{opts: Opts{}.withDefaults()}
	l := &topology.Layout{Shards: []topology.Shard{{Master: "a:1"}}}
	for i := range replicas {
		l.Shards[0].Replicas = append(l.Shards[0].Replicas, fmt.Sprintf("r%d:1", i))
	}
	t := newSnapshot(l, func(at topology.Node) *node {
		n := &node{c: c, addr: at.Addr, replica: at.Replica}
		n.weight.Store(1)
		n.sync.Store(syncLive)
		n.links = []*link{upLink(n), upLink(n)}
		return n
	})
	c.topology.Store(t)
	return c, t
}

// draws counts to which nodes reads go.
func draws(top *snapshot, policy ReplicaPolicyEnum, safe bool) map[string]int {
	counts := map[string]int{}
	var seed FairRoundRobinSeed
	for range 700 {
		w := routeSpec{policy: policy, replicas: policy.allowsReplica(safe), seed: &seed}
		if l := top.route(w); l != nil {
			counts[l.node.addr]++
		}
	}
	return counts
}

func TestRouteByPolicy(t *testing.T) {
	_, top := bareCluster(2)
	all := map[string]int{"a:1": 700}
	for _, policy := range []ReplicaPolicyEnum{MasterOnly, MasterAndSlaves, PreferSlaves} {
		assert.Equal(t, all, draws(top, policy, false), "writes: %s", policy)
	}
	assert.Equal(t, all, draws(top, MasterOnly, true))
	for _, policy := range []ReplicaPolicyEnum{MasterAndSlaves, ForceMasterAndSlaves} {
		for addr, n := range draws(top, policy, policy == MasterAndSlaves) {
			assert.InDelta(t, 233, n, 10, "%s to %s", policy, addr)
		}
	}
	for _, policy := range []ReplicaPolicyEnum{PreferSlaves, ForcePreferSlaves} {
		counts := draws(top, policy, policy == PreferSlaves)
		assert.InDelta(t, 100, counts["a:1"], 10)
		assert.InDelta(t, 300, counts["r0:1"], 10)
		assert.InDelta(t, 300, counts["r1:1"], 10)
	}
}

func TestRouteByState(t *testing.T) {
	_, top := bareCluster(2)
	master, first, second := top.nodes[0], top.nodes[1], top.nodes[2]
	read := func() map[string]int { return draws(top, PreferSlaves, true) }

	first.sync.Store(syncNever)
	counts := read()
	assert.Zero(t, counts["r0:1"], "it never synced")
	assert.NotZero(t, counts["r1:1"])

	second.sync.Store(syncLost)
	assert.Equal(t, map[string]int{"a:1": 700}, read(), "its link is down")

	for _, l := range master.links {
		l.state.Store(linkDown)
	}
	assert.Equal(t, map[string]int{"r1:1": 700}, read(), "old data is better than none")

	second.sync.Store(syncNever)
	assert.Empty(t, read(), "nobody is left")
	master.links[1].state.Store(linkConnecting)
	assert.Equal(t, map[string]int{"a:1": 700}, read(), "it waits for the connection")

	_, top = bareCluster(1)
	top.layout.MasterOnly.Add(0)
	assert.Equal(t, map[string]int{"a:1": 700}, draws(top, PreferSlaves, true))
	assert.NotZero(t, draws(top, ForcePreferSlaves, true)["r0:1"])
}

func TestRouteByWeight(t *testing.T) {
	_, top := bareCluster(2)
	top.nodes[0].weight.Store(0)
	top.nodes[1].weight.Store(0)
	assert.Equal(t, map[string]int{"r1:1": 700}, draws(top, MasterAndSlaves, true))
	top.nodes[2].weight.Store(0)
	assert.Len(t, draws(top, MasterAndSlaves, true), 3, "all zero count as equal")
	top.nodes[0].weight.Store(5)
	top.nodes[1].weight.Store(2)
	assert.InDelta(t, 500, draws(top, MasterAndSlaves, true)["a:1"], 10)
}

func TestRouteAvoids(t *testing.T) {
	_, top := bareCluster(0)
	n := top.nodes[0]
	seed := fixedSeed(0)
	w := routeSpec{seed: seed}
	assert.Same(t, n.links[0], top.route(w))
	w.avoid = n.links[0]
	assert.Same(t, n.links[1], top.route(w))
	n.links[1].state.Store(linkDown)
	assert.Same(t, n.links[0], top.route(w), "there is no other")
	n.links[0].state.Store(linkDown)
	assert.Nil(t, top.route(w))

	n.links[0].state.Store(linkConnecting)
	n.links[1].state.Store(linkUp)
	assert.Same(t, n.links[1], top.route(routeSpec{seed: seed}))
	assert.Same(t, n.links[1], top.route(routeSpec{seed: seed, slot: -1}))
}

func TestConnHostRoundRobin(t *testing.T) {
	c, top := bareCluster(0)
	n := top.nodes[0]
	assert.Same(t, n.links[0], n.pick(fixedSeed(1), nil))
	c.opts.ConnHostPolicy = ConnHostRoundRobin
	assert.Same(t, n.links[0], n.pick(fixedSeed(0), nil))
	assert.Same(t, n.links[1], n.pick(fixedSeed(1), nil))
	n.links[1].state.Store(linkDown)
	assert.Same(t, n.links[0], n.pick(fixedSeed(1), nil))
}

// hosts is a WeightProvider.
type hosts map[string]uint32

func (h hosts) GetWeightByHost(host string) (uint32, bool) {
	w, ok := h[host]
	return w, ok
}

func TestReplicaReads(t *testing.T) {
	tb := sharedCluster(t)
	_, master := owner(t, tb, "key")
	slave := replica(t, tb, master)
	c, rec := connect(t, tb.Addrs(), Opts{RoundRobinSeed: &FairRoundRobinSeed{}})
	require.Equal(t, "OK", redis.Sync{S: c}.Do("SET", "key", "value"))
	awaitReplica(t, c, slave)
	await(t, "replication", func() bool { return readBy(c, rec, slave, "key") == "value" })
	read := func(policy ReplicaPolicyEnum, cmd string, args ...any) map[string]int {
		rec.take()
		for range 40 {
			require.NoError(t, redis.AsError(redis.Sync{S: c.WithPolicy(policy)}.Do(cmd, args...)))
		}
		answers, replies := rec.take()
		assert.Empty(t, replies)
		return answers
	}
	assert.Equal(t, map[string]int{master.Addr(): 40}, read(MasterOnly, "GET", "key"))
	assert.Equal(t, map[string]int{master.Addr(): 40}, read(PreferSlaves, "SET", "key", "value"))
	assert.Equal(t, map[string]int{master.Addr(): 40}, read(PreferSlaves, "EVAL", "return 1", 1, "key"))
	for policy, share := range map[ReplicaPolicyEnum]int{MasterAndSlaves: 20, PreferSlaves: 30} {
		assert.InDelta(t, share, read(policy, "GET", "key")[slave.Addr()], 3, policy)
	}
	assert.InDelta(t, 30, read(ForcePreferSlaves, "EVAL", "return redis.call('GET', KEYS[1])", 1, "key")[slave.Addr()], 3)

	// A script that writes is sent to the master when the replica refuses.
	for range 8 {
		res := redis.Sync{S: c.WithPolicy(ForcePreferSlaves)}.Do("EVAL", "return redis.call('SET', KEYS[1], 'x')", 1, "key")
		assert.Equal(t, "OK", res)
	}
	got := redis.Sync{S: c.WithPolicy(PreferSlaves)}.SendMany([]redis.Request{redis.Req("STRLEN", "key"), redis.Req("SET", "key", "xy")})
	assert.Equal(t, "OK", got[1])
	_, err := redis.Sync{S: c.WithPolicy(PreferSlaves)}.SendTransaction([]redis.Request{redis.Req("SET", "key", "z")})
	assert.NoError(t, err)
	res := make(chan any, 1)
	c.SendWithPolicy(MasterOnly, redis.Req("GET", "key"), redis.FuncFuture(func(r any, _ uint64) { res <- r }), 0)
	assert.Equal(t, []byte("z"), <-res)
}

// readBy reads a key by replicas, and returns the value if it was this one that answered.
func readBy(c *Cluster, rec *recorder, slave *testbed.Node, key string) string {
	rec.take()
	value, _ := redis.Sync{S: c.WithPolicy(PreferSlaves)}.Do("GET", key).([]byte)
	if answers, _ := rec.take(); answers[slave.Addr()] != 1 {
		return ""
	}
	return string(value)
}

// awaitReplica waits until a replica is read from.
func awaitReplica(t testing.TB, c *Cluster, n *testbed.Node) {
	t.Helper()
	await(t, "replica is read from", func() bool {
		node := c.topology.Load().find(n.Addr())
		return node != nil && node.replica && node.readable(syncLive)
	})
}

// READONLY is sent whenever a connection to a replica is made again.
func TestReplicaConnectionsAreReadOnly(t *testing.T) {
	tb := sharedCluster(t)
	_, master := owner(t, tb, "key")
	slave := replica(t, tb, master)
	c, rec := connect(t, tb.Addrs(), Opts{WeightProvider: hosts{master.Addr(): 0}})
	require.Equal(t, "OK", redis.Sync{S: c}.Do("SET", "key", "value"))
	links := c.topology.Load().find(slave.Addr()).links
	for range 3 {
		await(t, "both connections", func() bool {
			return links[0].state.Load() == linkUp && links[1].state.Load() == linkUp
		})
		before := rec.disconnects(slave.Addr())
		slave.Do("CLIENT KILL", "TYPE", "normal")
		await(t, "cut", func() bool { return rec.disconnects(slave.Addr()) >= before+2 })
		awaitReplica(t, c, slave)
		rec.take()
		require.NoError(t, redis.AsError(redis.Sync{S: c.WithPolicy(MasterAndSlaves)}.Do("GET", "key")))
		answers, replies := rec.take()
		assert.Empty(t, replies, "a connection without READONLY would have been MOVED")
		assert.Equal(t, map[string]int{slave.Addr(): 1}, answers)
	}
}

func TestLatencyOrientedReads(t *testing.T) {
	tb := sharedCluster(t)
	_, master := owner(t, tb, "key")
	slave := replica(t, tb, master)
	c, rec := connect(t, tb.Addrs(), Opts{
		LatencyOrientedRR: true,
		CheckInterval:     100 * time.Millisecond,
		HostOpts:          redisconn.Opts{IOTimeout: time.Second}, // a third of it is between two measurements
	})
	awaitReplica(t, c, slave)
	await(t, "latencies", func() bool {
		n := c.topology.Load().find(slave.Addr())
		return n.latency() > 0 && n.weight.Load() > 1
	})
	c.SetLatencyOrientedRR(false)
	await(t, "even shares", func() bool { return c.topology.Load().find(slave.Addr()).weight.Load() == 1 })
	c.SetForceMinLatencyReplica(true)
	rec.take()
	for range 20 {
		require.NoError(t, redis.AsError(redis.Sync{S: c.WithPolicy(MasterAndSlaves)}.Do("GET", "key")))
	}
	_, replies := rec.take()
	assert.Empty(t, replies)
}
