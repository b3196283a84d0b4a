package rediscluster

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster/internal/route"
)

// asksLeave is the future of a call. When it gets a result, it asks whether the call may leave, as its caller may do at
// that moment.
type asksLeave struct {
	m    *many
	left bool
}

func (a *asksLeave) Resolve(any, uint64) { a.left = a.left || a.m.Leave() }
func (a *asksLeave) Cancelled() error    { return nil }

// A caller must not leave before it has the result of the write: it would send the write again.
func TestSendManyDoesNotLeaveWrites(t *testing.T) {
	var rules route.Rules
	cb := &asksLeave{}
	m := &many{Forward: send.Forward{To: cb}, w: &routed{c: &Cluster{}}}
	cb.m = m
	p := &part{many: m, link: route.NewLink(rules.NewNode("node:1", false, "")), index: []int{0}, stays: true}
	p.open.Store(1)
	m.parts = []*part{p}
	p.Resolve("OK", 0)
	require.False(t, cb.left, "the write's result is not there yet")

	m.alone.Store(1) // a write that was sent again after an error
	m.Resolve("OK", 0)
	require.False(t, cb.left, "the write's result is not there yet")
	require.False(t, m.Leave(), "no read of the call waits any more")
}

// The reads of a call that wait for two stalled nodes stay if the budget allows only one of them to leave, and
// then cost nothing.
func TestSendManyLeavesNodesTogether(t *testing.T) {
	tb := sharedCluster(t)
	opts := calm
	opts.HostOpts.IOTimeout, opts.CheckInterval = 10*time.Minute, 10*time.Minute
	c, _ := connect(t, tb.Addrs(), opts)
	requests := new(allowance)
	requests.Store(send.BudgetShare + 1)
	c.rules.Budget = send.NewBudget(requests, send.BudgetShare)
	for c.rules.Budget.Take(1) {
	}
	requests.Add(send.BudgetShare + 1)
	reads := c.WithPolicy(PreferSlaves)
	m := &many{w: c.with(PreferSlaves)}
	for _, key := range []string{"{a}", "{b}"} {
		slot, _ := owner(t, tb, key)
		frozen := c.topology.Load().Shard(slot).Nodes[1]
		node := nodeOf(t, tb, frozen.Addr)
		require.NoError(t, node.Pause())
		defer func() { _ = node.Resume() }()
		p := &part{many: m, link: frozen.Links[0]}
		p.open.Store(1)
		m.parts = append(m.parts, p)
		await(t, "the stalled link", func() bool {
			if pending(frozen) == 0 {
				reads.Send(redis.Req("GET", key), nil, 0)
			}
			return p.link.Lets()
		})
	}
	require.NotSame(t, m.parts[0].link, m.parts[1].link)
	require.False(t, m.Leave())
	require.True(t, c.rules.Budget.Has(), "the budget for one read is still there")
	requests.Add(send.BudgetShare + 1)
	require.True(t, m.Leave())
	require.False(t, c.rules.Budget.Has())
}
