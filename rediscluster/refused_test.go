package rediscluster

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster/internal/route"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/testbed"
)

// firstReplica is a seed with which reads go to the replica, in a shard of two nodes.
type firstReplica struct{}

func (firstReplica) Current() uint32 { return 1 }

// If a node's queue refuses a read, the read goes to another node. If the queue of that node refuses it as
// well, the read fails.
func TestRefusedReadGoesElsewhere(t *testing.T) {
	tb := sharedCluster(t)
	const room = 8
	opts := calm
	opts.ConnsPerHost, opts.HostOpts.MaxRequests, opts.RoundRobinSeed = 1, room, firstReplica{}
	c, _ := connect(t, tb.Addrs(), opts)
	require.Equal(t, "OK", redis.Sync{S: c}.Do("SET", "key", "value"))
	slot, n := owner(t, tb, "key")
	await(t, "the replica to be read", func() bool {
		l := c.topology.Load().Route(&route.Spec{Slot: slot, Replicas: true, Seed: firstReplica{}})
		return l != nil && l.Node.Replica && redis.AsError(redis.Sync{S: l.Conn}.Do("GET", "key")) == nil
	})
	shard := c.topology.Load().Shard(slot)
	replica := nodeOf(t, tb, shard.Nodes[1].Addr)
	ask := func(s redis.Sender, cmd string) any {
		res := make(chan any, 1)
		s.Send(redis.Req(cmd, "key"), redis.FuncFuture(func(r any, _ uint64) { res <- r }), 0)
		return <-res
	}
	fill := func(conn *redisconn.Connection) {
		for full := false; !full; {
			conn.Send(redis.Req("GET", "key"), redis.FuncFuture(func(r any, _ uint64) {
				full = full || redis.OutcomeOf(r) == redis.OutcomeNotSent // a refusal resolves the future before Send returns
			}), 0)
		}
	}

	require.NoError(t, replica.Pause())
	defer func() { _ = replica.Resume() }()
	fill(shard.Nodes[1].Links[0].Conn)
	before := c.Stats().Retries
	reads := c.WithPolicy(MasterAndSlaves)
	assert.Equal(t, []byte("value"), ask(reads, "GET"))
	assert.LessOrEqual(t, c.Stats().Retries, before+1) // no retry if the client already knows that the replica is silent
	assert.Equal(t, []any{[]byte("value"), []byte("value")}, redis.Sync{S: reads}.SendMany([]redis.Request{redis.Req("GET", "key"), redis.Req("GET", "key")}))

	require.NoError(t, n.Pause())
	defer func() { _ = n.Resume() }()
	fill(shard.Master.Links[0].Conn)
	before = c.Stats().Retries
	isType(t, redis.ErrQueueFull, ask(c, "GET")) // the policy allows no other node
	assert.Equal(t, before, c.Stats().Retries)
	isType(t, redis.ErrQueueFull, ask(reads, "GET"))
	assert.LessOrEqual(t, c.Stats().Retries, before+1)
}

// A script may return any error after it has written, so it is not run again.
func TestScriptThatRefusesRunsOnce(t *testing.T) {
	c, _ := connect(t, sharedCluster(t).Addrs(), calm)
	db := redis.Sync{S: c}
	const script = `redis.call('INCR', KEYS[1]) return redis.error_reply(ARGV[1])`
	for i, words := range []string{"TRYAGAIN later", "LOADING my data", "READONLY for now", "CLUSTERDOWN x", "MASTERDOWN x"} {
		key := "refused:" + words
		require.ErrorIs(t, redis.Err(db.Do("EVAL", script, 1, key, words)), redis.ErrRefused)
		require.Equal(t, []byte("1"), db.Do("GET", key), words)
		res := db.SendMany([]redis.Request{redis.Req("EVAL", script, 1, key, words), redis.Req("ECHO", i)})
		require.ErrorIs(t, redis.Err(res[0]), redis.ErrRefused)
		require.Equal(t, []byte("2"), db.Do("GET", key), words)
	}
}

// nodeOf returns the node of an address.
func nodeOf(t *testing.T, tb *testbed.Cluster, addr string) *testbed.Node {
	t.Helper()
	for _, n := range tb.Nodes() {
		if n.Addr() == addr {
			return n
		}
	}
	t.Fatal("no such node")
	return nil
}
