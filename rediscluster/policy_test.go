package rediscluster

import (
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/testbed"
)

func TestPolicyAllowsReplicas(t *testing.T) {
	for policy, want := range map[ReplicaPolicyEnum][2]bool{ // for a request that is not safe on replicas, and for one that is
		MasterOnly:            {false, false},
		MasterAndSlaves:       {false, true},
		PreferSlaves:          {false, true},
		ForceMasterAndSlaves:  {true, true},
		ForcePreferSlaves:     {true, true},
		ReplicaPolicyEnum(99): {false, false},
	} {
		for i, safe := range []bool{false, true} {
			var spec routeSpec
			err := (&routed{&Cluster{}, policy.spec(nil)}).specOf(&send.Request{ReplicaSafe: safe}, &spec)
			assert.Nil(t, err)
			assert.Equal(t, want[i], spec.Replicas, "%s, safe: %t", policy, safe)
		}
		assert.Equal(t, policy == ReplicaPolicyEnum(99), policy.String() == "unknown policy")
	}
	assert.Equal(t, uint64(3), PreferSlaves.spec(nil).ReplicaShare)
	assert.Equal(t, uint64(1), ForceMasterAndSlaves.spec(nil).ReplicaShare)
}

func TestFairRoundRobinSeed(t *testing.T) {
	var seed FairRoundRobinSeed
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 1000 {
				seed.Current()
			}
		})
	}
	all.Wait()
	assert.Equal(t, uint32(4001), seed.Current())
}

func TestTimedRoundRobinSeed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seed := NewTimedRoundRobinSeed(10 * time.Millisecond)
		first := seed.Current()
		assert.Equal(t, first, seed.Current())
		time.Sleep(35 * time.Millisecond)
		assert.Equal(t, first+3, seed.Current())
		seed.Stop()
		time.Sleep(time.Second)
		assert.Equal(t, first+3, seed.Current())
		seed.Stop()
		assert.Equal(t, first+3, seed.Current())
	})
	assert.NotPanics(t, func() { NewTimedRoundRobinSeed(0).Current() })
	assert.NotPanics(t, func() { new(TimedRoundRobinSeed).Current() })
	assert.NotPanics(t, func() { (*FairRoundRobinSeed)(nil).Current(); (*TimedRoundRobinSeed)(nil).Current() })
	assert.NotPanics(t, (*TimedRoundRobinSeed)(nil).Stop)
	assert.Same(t, DefaultRoundRobinSeed(), DefaultRoundRobinSeed())
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
		await(t, "answers to reads that have left a slow node", func() bool { return c.Stats().Total.InFlight == 0 })
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
	for _, policy := range []ReplicaPolicyEnum{MasterAndSlaves, PreferSlaves} { // package route tests the shares
		await(t, "reads of both", func() bool { return len(read(policy, "GET", "key")) == 2 })
	}
	await(t, "scripts of both", func() bool {
		return len(read(ForcePreferSlaves, "EVAL", "return redis.call('GET', KEYS[1])", 1, "key")) == 2
	})

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

// readBy reads a key from replicas, and returns the value if the given replica answered.
func readBy(c *Cluster, rec *recorder, slave *testbed.Node, key string) string {
	rec.take()
	value, _ := redis.Sync{S: c.WithPolicy(PreferSlaves)}.Do("GET", key).([]byte)
	if answers, _ := rec.take(); answers[slave.Addr()] != 1 {
		return ""
	}
	return string(value)
}

// awaitReplica waits until the client reads from a replica.
func awaitReplica(t testing.TB, c *Cluster, n *testbed.Node) {
	t.Helper()
	await(t, "replica is read from", func() bool {
		node := c.topology.Load().Find(n.Addr())
		return node != nil && node.Replica && node.Readable()
	})
}

// The client sends READONLY whenever it connects to a replica again.
func TestReplicaConnectionsAreReadOnly(t *testing.T) {
	tb := sharedCluster(t)
	_, master := owner(t, tb, "key")
	slave := replica(t, tb, master)
	c, rec := connect(t, tb.Addrs(), Opts{WeightProvider: hosts{master.Addr(): 0}})
	require.Equal(t, "OK", redis.Sync{S: c}.Do("SET", "key", "value"))
	links := c.topology.Load().Find(slave.Addr()).Links
	for range 3 {
		await(t, "both connections", func() bool {
			return links[0].Up() && links[1].Up()
		})
		before := rec.disconnects(slave.Addr())
		slave.Do("CLIENT KILL", "TYPE", "normal")
		await(t, "cut", func() bool { return rec.disconnects(slave.Addr()) >= before+2 })
		awaitReplica(t, c, slave)
		rec.take()
		require.NoError(t, redis.AsError(redis.Sync{S: c.WithPolicy(MasterAndSlaves)}.Do("GET", "key")))
		answers, replies := rec.take()
		assert.Empty(t, replies, "a connection without READONLY would have been MOVED")
		assert.Equal(t, []string{slave.Addr()}, slices.Collect(maps.Keys(answers)), "a read may change to the node's other connection")
	}
}

func TestLatencyOrientedReads(t *testing.T) {
	tb := sharedCluster(t)
	_, master := owner(t, tb, "key")
	slave := replica(t, tb, master)
	c, rec := connect(t, tb.Addrs(), Opts{
		LatencyOrientedRR: true,
		CheckInterval:     100 * time.Millisecond,
		// No time-out. The heartbeats, which measure the latency, are as frequent as by default.
		HostOpts: redisconn.Opts{IOTimeout: -1, DialTimeout: patience},
	})
	awaitReplica(t, c, slave)
	await(t, "latencies", func() bool {
		n := c.topology.Load().Find(slave.Addr())
		return n.Latency() > 0 && n.Weight.Load() > 1
	})
	c.SetLatencyOrientedRR(false)
	await(t, "even shares", func() bool { return c.topology.Load().Find(slave.Addr()).Weight.Load() == 1 })
	c.SetForceMinLatencyReplica(true)
	rec.take()
	for range 20 {
		require.NoError(t, redis.AsError(redis.Sync{S: c.WithPolicy(MasterAndSlaves)}.Do("GET", "key")))
	}
	_, replies := rec.take()
	assert.Empty(t, replies)
}
