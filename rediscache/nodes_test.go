package rediscache

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/faulty"
	"github.com/joomcode/redispipe/internal/inner"
	"github.com/joomcode/redispipe/internal/memory"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/testbed"
)

// oneMaster is a cluster in which one node has all slots.
type oneMaster struct {
	inner.Nodes
	node inner.Node
}

func (m *oneMaster) Master(int) inner.Node { return m.node }

// A master that another has replaced is not read from, though its feed is in place still: what
// was written to the other one would be missing.
func TestReplacedMaster(t *testing.T) {
	opts := redisconn.Opts{IOTimeout: time.Minute}
	before, after := connect(t, testbed.NewServer(t).Addr(), opts), connect(t, testbed.NewServer(t).Addr(), opts)
	cluster := &oneMaster{node: before}
	c := &core{ctx: t.Context(), store: memory.New(1 << 20), sweeping: make(chan struct{}, 1)}
	c.nodes.all = cluster
	c.nodes.placed.Store(&placement{})
	c.place()
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
	c.nodes.each((*feed).close)
}

// Behind an address that leads to several servers, a tracker that has got to another one than the
// shared connection is not read from: it does not have what was written here.
func TestTrackerOfOtherServer(t *testing.T) {
	t.Parallel()
	p := newProxied(t, time.Minute, all)
	p.proxy.SetTarget(testbed.NewServer(t).Addr())
	p.proxy.Arm(faulty.ProxyFault{Do: faulty.ProxyReset, On: faulty.ProxyReplies, At: faulty.ProxyNow(), Conn: tracked})
	for i := 0; p.proxy.Stats().Accepted < tracked+3; i++ { // until two more were made and given up
		must(t, p.cache.Do(t.Context(), "SET", "key", i))
		require.Equal(t, fmt.Append(nil, i), get(t, p.cache, "key"))
	}
	p.proxy.SetTarget(p.server.Addr())
	awaitLeases(t, p.cache)
}
