package rediscache

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/backend"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscache/internal/memory"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest/chaos"
	"github.com/joomcode/redispipe/testbed"
)

// oneMaster is a cluster in which one node has all slots.
type oneMaster struct {
	backend.Cluster
	node backend.Node
}

func (m *oneMaster) Master(int) backend.Node { return m.node }

// coreOf makes the core of a cache of all keys.
func coreOf(t *testing.T, nodes backend.Cluster) *core {
	t.Helper()
	c := &core{ctx: t.Context(), store: memory.New(1 << 20), sweeping: make(chan struct{}, 1), opts: Opts{Prefixes: []string{""}}}
	c.nodes.all = nodes
	c.nodes.placed.Store(&placement{})
	c.place()
	t.Cleanup(func() { c.nodes.each((*feed).close) })
	return c
}

// A replaced master is not read from, even while its feed still exists, because it lacks the writes
// to the new master.
func TestReplacedMaster(t *testing.T) {
	opts := redisconn.Opts{IOTimeout: time.Minute}
	before, after := connect(t, testbed.NewServer(t).Addr(), opts), connect(t, testbed.NewServer(t).Addr(), opts)
	cluster := &oneMaster{node: before}
	c := coreOf(t, cluster)
	served := func() bool {
		_, l := c.nodes.feed(1)
		return l != nil && l.Holds(memory.Now())
	}
	require.Eventually(t, served, patient, time.Millisecond)
	cluster.node = after
	require.False(t, served())
	c.place()
	require.Eventually(t, served, patient, time.Millisecond)
	cluster.node = nil
	require.False(t, served(), "nobody serves the slot")
}

// A command that drops everything also reaches the feed of a node that is leaving, until the feed
// is closed.
func TestAllDroppedWhileANodeLeaves(t *testing.T) {
	t.Parallel()
	opts := redisconn.Opts{IOTimeout: time.Minute}
	cluster := &oneMaster{node: connect(t, testbed.NewServer(t).Addr(), opts)}
	c := coreOf(t, cluster)
	leaving, _ := c.nodes.feed(1)
	cluster.node = connect(t, testbed.NewServer(t).Addr(), opts)
	leaving.mu.Lock() // while it is locked, close blocks
	placed := make(chan struct{})
	go func() {
		defer close(placed)
		c.place()
	}()
	<-leaving.ctx.Done()
	found := false
	c.nodes.each(func(f *feed) { found = found || f == leaving })
	leaving.mu.Unlock()
	<-placed
	require.True(t, found)
}

// If an address leads to several servers, the tracker may reach a different server than the shared
// connection. The cache does not use such a tracker, because its server may lack writes of the shared
// connection.
func TestTrackerOfOtherServer(t *testing.T) {
	t.Parallel()
	p := newProxied(t, time.Minute, all)
	p.proxy.SetTarget(testbed.NewServer(t).Addr())
	p.proxy.Arm(chaos.Fault{Do: chaos.Reset, On: chaos.Replies, At: chaos.Now(), Conn: tracked})
	for i := 0; p.proxy.Stats().Accepted < tracked+3; i++ { // until two more trackers were dialed and given up
		must(t, p.cache.Do(t.Context(), "SET", "key", i))
		require.Equal(t, fmt.Append(nil, i), get(t, p.cache, "key"))
	}
	p.proxy.SetTarget(p.server.Addr())
	awaitLeases(t, p.cache)
}

// A read begins before a master is replaced, and enters the cache after a write to the new master. The cache
// does not send it to the old master, and does not keep its reply.
func TestReplacedWhileReading(t *testing.T) {
	t.Parallel()
	opts := redisconn.Opts{IOTimeout: time.Minute}
	before, after := connect(t, testbed.NewServer(t).Addr(), opts), connect(t, testbed.NewServer(t).Addr(), opts)
	must(t, redis.Sync{S: before}.Do("SET", "key", "old"))
	cluster := &oneMaster{node: before}
	c := coreOf(t, cluster)
	c.backend = send.BackendOf[redis.Future](after).(origin)
	require.Eventually(t, func() bool { _, l := c.nodes.feed(1); return l != nil }, patient, time.Millisecond)
	s := &sender{core: c, limits: memory.Limits{Age: time.Minute}}
	r, err := encoded(redis.Req("GET", "key"))
	require.NoError(t, err)
	r.Slot = 1
	q, how := s.question(r)
	require.Equal(t, isAnswered, how)
	cluster.node = after
	must(t, redis.Sync{S: after}.Do("SET", "key", "new"))
	c.changed(send.Changes{Keys: []string{"key"}})
	got := make(chan any, 1)
	if _, how := s.enter(q, waiter{redis.FuncFuture(func(res any, _ uint64) { got <- res }), 0}); how == memory.Asks {
		q.send(r)
	}
	require.Equal(t, []byte("new"), await(t, got))
	require.False(t, s.find(r.Buf, new(memory.Value)))
}

// While the shared connection has no socket, it is unknown which server answered its last write. So
// replies that were read on the tracker are no longer served.
func TestWriteWhoseSocketIsGone(t *testing.T) {
	t.Parallel()
	p := newProxied(t, time.Minute, all)
	must(t, p.other.Do(t.Context(), "SET", "key", "old"))
	get(t, p.cache, "key")
	require.True(t, kept(t, p.cache, "GET", "key"))
	p.proxy.SetTarget("127.0.0.1:1")
	p.proxy.Arm(chaos.Fault{Do: chaos.Reset, On: chaos.Replies, At: chaos.Now(), Conn: tracked - 1})
	c := p.cache.core
	require.Eventually(t, func() bool { return c.nodes.local() == "" }, patient, time.Millisecond)
	c.changed(send.Changes{Keys: []string{"another"}})
	require.False(t, kept(t, p.cache, "GET", "key"))
}

// A master that has become a replica does not report writes of other clients to the new master. So a tracker
// ends when the role of its server changes.
func TestDemotedMaster(t *testing.T) {
	t.Parallel()
	server := testbed.NewServer(t)
	c := coreOf(t, &oneMaster{node: connect(t, server.Addr(), redisconn.Opts{IOTimeout: 2 * time.Second})})
	lease := func() *memory.Lease { _, l := c.nodes.feed(1); return l }
	require.Eventually(t, func() bool { return lease() != nil }, patient, time.Millisecond)
	l := lease()
	require.Equal(t, "OK", server.Do("REPLICAOF", "127.0.0.1", 1))
	require.Eventually(t, func() bool { return l.Until() < 0 }, patient, time.Millisecond)
	require.Equal(t, "OK", server.Do("REPLICAOF", "NO", "ONE"))
	require.Eventually(t, func() bool { l := lease(); return l != nil && l.Holds(memory.Now()) }, patient, time.Millisecond)
}
