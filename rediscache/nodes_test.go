package rediscache

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/inner"
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
	c := &core{ctx: t.Context(), store: newStore(1 << 20), sweeping: make(chan struct{}, 1)}
	c.nodes.all = cluster
	c.nodes.placed.Store(&placement{})
	c.place()
	served := func() bool {
		_, l := c.nodes.feed(1)
		return l != nil && l.holds(now())
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
