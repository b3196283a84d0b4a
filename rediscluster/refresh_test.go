package rediscluster

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/lab/drill"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster/internal/topology"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest/chaos"
	"github.com/joomcode/redispipe/testbed"
)

// withoutFailover starts a cluster in which no replica takes over within a minute.
func withoutFailover(t *testing.T) *testbed.Cluster {
	t.Helper()
	tb := testbed.NewCluster(t)
	require.NoError(t, holdRoles(tb))
	return tb
}

// Replicas answer reads while a master is down or frozen.
func TestReplicaFallback(t *testing.T) {
	drill.Rotate(t)
	t.Parallel()
	tb := withoutFailover(t)
	for _, tt := range []struct {
		name string
		harm func(*testbed.Node) error
	}{
		{"frozen", func(n *testbed.Node) error { return n.Pause() }},
		{"stopped", func(n *testbed.Node) error { return n.Stop() }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, rec := connect(t, tb.Addrs(), Opts{HostOpts: redisconn.Opts{IOTimeout: time.Second}})
			s := redis.Sync{S: c.WithPolicy(MasterAndSlaves)}
			require.Equal(t, "OK", s.Do("SET", "key", tt.name))
			_, master := owner(t, tb, "key")
			slave := replica(t, tb, master)
			awaitReplica(t, c, slave)
			await(t, "replication", func() bool { return readBy(c, rec, slave, "key") == tt.name })
			require.NoError(t, tt.harm(master))
			rec.take()
			for range 200 {
				require.Equal(t, []byte(tt.name), s.Do("GET", "key"))
			}
			answers, _ := rec.take()
			assert.NotZero(t, answers[slave.Addr()])
			assert.Error(t, redis.AsError(s.Do("SET", "key", "x")), "writes have nowhere to go")
			_ = master.Resume()
		})
	}
}

// If a replica has lost the link to its master, and the client can read from the master, then the client
// stops reading from the replica after Opts.ReplicaLinkDownTolerance.
func TestReplicaWithoutLinkIsNotReadFrom(t *testing.T) {
	drill.Rotate(t)
	t.Parallel()
	tb := withoutFailover(t)
	c, rec := connect(t, tb.Addrs(), Opts{CheckInterval: 100 * time.Millisecond, ReplicaLinkDownTolerance: -1})
	tolerant, _ := connect(t, tb.Addrs(), Opts{CheckInterval: 100 * time.Millisecond, ReplicaLinkDownTolerance: time.Hour})
	s := redis.Sync{S: c.WithPolicy(PreferSlaves)}
	require.Equal(t, "OK", s.Do("SET", "key", "value"))
	_, master := owner(t, tb, "key")
	slave := replica(t, tb, master)
	awaitReplica(t, c, slave)
	// The replica's password is wrong now, so it can't connect to the master again.
	require.Equal(t, "OK", slave.Do("CONFIG SET", "masterauth", "wrong"))
	require.Equal(t, "OK", slave.Do("CONFIG SET", "masteruser", "nobody"))
	master.Do("CLIENT KILL", "TYPE", "replica")
	await(t, "lost link", func() bool { return !c.topology.Load().Find(slave.Addr()).Readable() })
	rec.take()
	for range 20 {
		require.Equal(t, []byte("value"), s.Do("GET", "key"))
	}
	answers, _ := rec.take()
	assert.Equal(t, []string{master.Addr()}, slices.Collect(maps.Keys(answers)), "a read may change to the node's other connection")
	refreshed(tolerant)
	awaitReplica(t, tolerant, slave)
	require.Equal(t, "OK", slave.Do("CONFIG SET", "masteruser", ""))
	require.Equal(t, "OK", slave.Do("CONFIG SET", "masterauth", ""))
	awaitReplica(t, c, slave)
}

func TestNodeChangesItsAddress(t *testing.T) {
	drill.Rotate(t)
	t.Parallel()
	tb := testbed.NewCluster(t, testbed.ClusterOptions{Options: testbed.Options{Persist: true}, Replicas: -1})
	c, _ := connect(t, tb.Addrs(), Opts{})
	s := redis.Sync{S: c}
	require.Equal(t, "OK", s.Do("SET", "key", "value"))
	slot, n := owner(t, tb, "key")
	before := n.Addr()
	old := c.topology.Load().Find(before)
	require.NoError(t, n.RestartElsewhere())
	require.NotEqual(t, before, n.Addr())
	require.NoError(t, tb.WaitAgreed())
	awaitOwner(t, c, slot, n)
	await(t, "value", func() bool { return assert.ObjectsAreEqual([]byte("value"), s.Do("GET", "key")) })
	await(t, "the end of the old connections", func() bool {
		for _, l := range old.Links {
			if l.Conn.Ctx().Err() == nil {
				return false
			}
		}
		return true
	})
}

// If all known nodes go away, the client finds the cluster again through the seeds.
func TestSeedsAreAskedAgain(t *testing.T) {
	t.Parallel()
	tb := testbed.NewCluster(t, testbed.ClusterOptions{Options: testbed.Options{Persist: true}, Replicas: -1})
	c, rec := connect(t, tb.Addrs(), Opts{CheckInterval: 200 * time.Millisecond})
	s := redis.Sync{S: c}
	require.Equal(t, "OK", s.Do("SET", "key", "value"))
	for _, n := range tb.Nodes() {
		require.NoError(t, n.Kill())
	}
	isType(t, ErrNoAliveConnection, func() any {
		var res any
		await(t, "no connection", func() bool {
			res = s.Do("GET", "key")
			err := redis.AsErrorx(res)
			return err != nil && err.IsOfType(ErrNoAliveConnection)
		})
		return res
	}())
	await(t, "the event", func() bool {
		return rec.seen(func(e LogEvent) bool { _, ok := e.(LogSlotRangeError); return ok })
	})
	for _, n := range tb.Nodes() {
		require.NoError(t, n.Restart())
	}
	await(t, "recovery", func() bool { return assert.ObjectsAreEqual([]byte("value"), s.Do("GET", "key")) })
}

func TestReleaseAfterTheEnd(t *testing.T) {
	tb := sharedCluster(t)
	c, _ := connect(t, tb.Addrs(), calm)
	called := make(chan struct{}, 2)
	c.refresher.afterRefresh(func() { called <- struct{}{} })
	<-called
	c.Close()
	<-c.refresher.done
	c.refresher.afterRefresh(func() { called <- struct{}{} })
	<-called
}

func TestResolveEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, _, err := new(Cluster).lookUp(ctx, "localhost:1")
	if err != nil { // the lookup may have finished before the context ended
		isType(t, redis.ErrContextClosed, err)
	}
	_, got, err := new(Cluster).lookUp(context.Background(), "127.0.0.1:1")
	require.NoError(t, err)
	assert.Equal(t, []string{"127.0.0.1:1"}, got)
}

// TestEndpointTypes: a cluster may tell clients the hostnames of its nodes, or only their ports.
func TestEndpointTypes(t *testing.T) {
	drill.Rotate(t)
	t.Parallel()
	testbed.Needs(t, testbed.Version(7, 0))
	tb := testbed.NewCluster(t, testbed.ClusterOptions{Options: testbed.Options{Config: []string{"cluster-announce-hostname localhost"}}})
	for _, kind := range []string{"hostname", "unknown-endpoint", "ip"} {
		for _, protocol := range []int{2, 3} {
			t.Run(fmt.Sprintf("%s, RESP%d", kind, protocol), func(t *testing.T) {
				for _, n := range tb.Nodes() {
					require.Equal(t, "OK", n.Do("CONFIG SET", "cluster-preferred-endpoint-type", kind))
				}
				c, rec := connect(t, tb.Addrs(), Opts{CheckInterval: time.Minute, HostOpts: redisconn.Opts{Protocol: protocol}})
				s := redis.Sync{S: c}
				for i := range 30 {
					require.Equal(t, "OK", s.Do("SET", fmt.Sprintf("key:%d", i), i))
				}
				_, replies := rec.take()
				assert.Empty(t, replies)
				nodes := c.topology.Load().Nodes
				assert.Len(t, nodes, 6, "each node once")
				await(t, "replicas", func() bool {
					for _, n := range nodes {
						if !n.Readable() {
							return false
						}
					}
					return true
				})
				slot, from := owner(t, tb, "key:1")
				require.NoError(t, tb.MoveSlot(slot, another(t, tb, from)))
				assert.Equal(t, []byte("1"), s.Do("GET", "key:1"))
				_, replies = rec.take()
				assert.Equal(t, map[string]int{"MOVED": 1}, replies)
				assert.Len(t, scanAll(t, c, redis.ScanOpts{}, func() {}), 30)
			})
		}
	}
}

// If a cluster is configured to tell clients hostnames and its nodes have none, the hosts are "?".
func TestEndpointsWithoutHostnames(t *testing.T) {
	drill.Rotate(t)
	t.Parallel()
	testbed.Needs(t, testbed.Version(7, 0))
	tb := testbed.NewCluster(t, testbed.ClusterOptions{Options: testbed.Options{Config: []string{"cluster-preferred-endpoint-type hostname"}}})
	c, rec := connect(t, tb.Addrs(), Opts{CheckInterval: time.Minute})
	s := redis.Sync{S: c}
	slot, from := owner(t, tb, "key")
	to := another(t, tb, from)
	require.Equal(t, "OK", s.Do("SET", "key", "value"))
	_, _ = rec.take()
	require.NoError(t, tb.MoveSlot(slot, to))
	assert.Equal(t, []byte("value"), s.Do("GET", "key"))
	_, replies := rec.take()
	assert.Equal(t, map[string]int{"MOVED": 1}, replies)
}

// TestNameResolutionIsBounded: a resolver that never answers does not hold up the
// topology for longer than a node that never answers.
func TestNameResolutionIsBounded(t *testing.T) {
	asked := nameServers.asked.Load()
	silence := make(chan struct{})
	nameServers.silent.Store(&silence)
	defer close(silence)
	defer nameServers.silent.Store(nil)
	c := &Cluster{opts: Opts{Logger: NoopLogger{}, HostOpts: redisconn.Opts{TLSEnabled: true, IOTimeout: 20 * time.Millisecond}}, ctx: context.Background()}
	r := newRefresher(c, &nodeSource{c: c, seeds: []string{"nowhere.example:1", "elsewhere.example:1", "127.0.0.1:1"}})
	assert.Empty(t, r.hostname(&topology.Layout{}, "10.0.0.1:1", r.source.hosts))
	await(t, "poll", func() bool { return nameServers.asked.Load() > asked })
	assert.Empty(t, r.hostname(&topology.Layout{}, "a.example:1", nil), "the address names itself")
}

func TestProbe(t *testing.T) {
	answer := chaos.ScriptedReplies("+OK\r\n")
	node, next := newScriptedNode(t, answer), newScriptedNode(t, answer)
	c, _ := connect(t, []string{node.Addr()}, calm)
	await(t, "connection", c.topology.Load().Shards[0].Master.Up)
	assert.False(t, c.refresher.source.probe(), "nothing has changed")
	node.serve(next.Addr())
	assert.True(t, c.refresher.source.probe())
	nobody := "*0\r\n"
	node.slots.Store(&nobody)
	assert.False(t, c.refresher.source.probe(), "a node that knows nothing has no news")
}

// TestRestEndsWithNews: the pause between two reads of the topology ends early if a request waits for the
// topology and a probe finds that it has changed.
func TestRestEndsWithNews(t *testing.T) {
	answer := chaos.ScriptedReplies("+OK\r\n")
	node, next := newScriptedNode(t, answer), newScriptedNode(t, answer)
	c, _ := connect(t, []string{node.Addr()}, calm)
	await(t, "connection", c.topology.Load().Shards[0].Master.Up)
	// The test takes the place of the refresher, so it ends the refresher's goroutine first.
	c.cancel(nil)
	<-c.refresher.done
	assert.False(t, c.refresher.pause(time.Hour, true))

	alive, _ := connect(t, []string{node.Addr()}, calm)
	await(t, "connection", alive.topology.Load().Shards[0].Master.Up)
	r := newRefresher(alive, &nodeSource{c: alive})
	asked := node.asked.Load()
	assert.False(t, r.pause(2*probePause, true))
	assert.Equal(t, asked, node.asked.Load(), "nobody waits for news")
	r.force()
	assert.False(t, r.pause(2*probePause, false))
	assert.Equal(t, asked, node.asked.Load(), "the last news came to nothing")
	node.serve(next.Addr())
	assert.True(t, r.pause(time.Hour, true))
}

// A restarted master has a new run_id. Connections that were made after the restart lead to it, so
// they stay.
func TestConnectionsToARestartedMasterStay(t *testing.T) {
	t.Parallel()
	server := testbed.NewServer(t)
	c, err := NewReplicated(context.Background(), []string{server.Addr()}, Opts{
		Logger: NoopLogger{}, CheckInterval: 100 * time.Millisecond, HostOpts: redisconn.Opts{IOTimeout: patience},
	})
	require.NoError(t, err)
	defer c.Close()
	master := c.topology.Load().Shards[0].Master
	require.NoError(t, server.Kill())
	await(t, "no connection", func() bool { return !master.Links[0].Up() && !master.Links[1].Up() })
	require.NoError(t, server.Restart())
	await(t, "connections", func() bool { return master.Links[0].Up() && master.Links[1].Up() })
	until := c.Stats().Refreshes + 5
	await(t, "refreshes", func() bool { return c.Stats().Refreshes >= until })
	require.Same(t, master, c.topology.Load().Shards[0].Master)
}
