package route

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/send"
)

// counted is a send.Counter with a fixed number of requests.
type counted uint64

func (c *counted) Requests() uint64 { return uint64(*c) }

// spent returns a budget that allows one retry for every share requests, and whose initial allowance is used up.
func spent(c *counted, share int64) *send.Budget {
	b := send.NewBudget(c, share)
	for b.Take(1) {
	}
	return b
}

// silence judges a shard after a look that found the second node silent for the time silent, and all
// others for the time others.
func silence(s *Shard, silent, others time.Duration) {
	for i, d := range []time.Duration{others, silent} {
		n := s.Nodes[i]
		n.up, n.silent = true, d
		for _, l := range n.Links {
			l.is(d)
		}
		n.judge(time.Hour)
	}
	s.letLeave()
}

// Reads leave a link that has been silent for long while another link of its shard answers. Reads that
// had to stay, because the budget was used up, may leave later.
func TestReadsLeave(t *testing.T) {
	requests := counted(0)
	s := oneShard(1).Shards[0]
	s.Nodes[0].rules.Budget = send.NewBudget(&requests, send.BudgetShare)
	l := s.Nodes[1].Links[0]
	look := func(silent, others time.Duration) bool {
		before, other := l.Stalled(), s.Nodes[0].Links[0].Stalled()
		silence(s, silent, others)
		require.NoError(t, other.Err())
		require.NoError(t, l.Stalled().Err())
		return before.Err() != nil
	}
	require.False(t, look(stallMoves-1, 0), "not yet")
	require.False(t, look(stallMoves, 2*ms), "nobody answers")
	require.True(t, look(stallMoves+ms, 0))
	require.False(t, look(2*stallMoves+ms, 0), "it is still silent")
	require.True(t, look(2*stallMoves+2*ms, 0), "the silence has doubled")
	require.True(t, look(100*ms, 0))
	require.False(t, look(100*ms+moveAgain-1, 0))
	require.True(t, look(100*ms+moveAgain, 0))
	require.False(t, look(0, 0), "it answers again")
	require.True(t, look(stallMoves, 0), "once more")

	s.Nodes = s.Nodes[1:]
	before := l.Stalled()
	l.is(time.Minute)
	s.letLeave()
	require.NoError(t, before.Err(), "there is no other node")
}

// No more reads leave a stalled node than the budget allows. The others leave as soon as it allows more.
func TestLeaveWithinBudget(t *testing.T) {
	requests := counted(0)
	s := oneShard(1).Shards[0]
	s.Nodes[0].rules.Budget = spent(&requests, send.BudgetShare)
	l := s.Nodes[1].Links[0]
	waiting, left := 100, 0
	for at := stallMoves; waiting > 0; at += ms {
		require.Less(t, at, 2*time.Second)
		before := l.Stalled()
		if silence(s, at, 0); before.Err() != nil {
			some := false
			for waiting > 0 && l.Leave() {
				some, waiting, left = true, waiting-1, left+1
			}
			require.True(t, some, "nobody wakes for nothing")
		}
		require.LessOrEqual(t, left*(send.BudgetShare+1), int(requests)+send.BudgetShare)
		requests++
	}
	require.InDelta(t, 100*(send.BudgetShare+1), int(requests), float64(moveAgain/ms)+1)
	require.Zero(t, s.Nodes[0].rules.Hedged.Load())
}

// With Hedge, reads leave as soon as the link is silent, if the budget of Hedge allows it. The others leave
// as they do without Hedge.
func TestLeaveEarly(t *testing.T) {
	requests, few := counted(0), counted(2*50)
	s := oneShard(1).Shards[0]
	rules := s.Nodes[0].rules
	rules.Budget, rules.Hedge = send.NewBudget(&requests, send.BudgetShare), spent(new(counted), 50)
	rules.Hedge.Counter = &few
	l := s.Nodes[1].Links[0]
	before := l.Stalled()
	silence(s, 2*ms, 0)
	require.Error(t, before.Err())
	left := 0
	for l.Leave() {
		left++
	}
	require.Equal(t, 2, left, "three cost more than 150 requests")
	require.EqualValues(t, left, rules.Hedged.Load())

	before = l.Stalled()
	silence(s, 9*ms, 0)
	require.NoError(t, before.Err())
	silence(s, stallMoves, 0)
	require.Error(t, before.Err())
	require.True(t, l.Leave())
	require.EqualValues(t, left, rules.Hedged.Load())
}

// Reads of one caller leave two links together, or stay and cost nothing.
func TestLeaveTogether(t *testing.T) {
	requests := counted(0)
	s := oneShard(1).Shards[0]
	rules, early, late := s.Nodes[0].rules, s.Nodes[0].Links[0], s.Nodes[1].Links[0]
	const hedge, soon, later = 50, 2, 3 // one read in hedge requests may leave early
	rules.Budget, rules.Hedge = spent(&requests, send.BudgetShare), spent(&requests, hedge)
	early.early.Store(true)
	var both Departure
	both.Add(early, soon)
	both.Add(late, later)
	requests = later * (send.BudgetShare + 1)
	require.False(t, rules.Leave(both), "Hedge does not allow its part")
	require.True(t, rules.Budget.Take(later), "nothing was taken")
	require.Zero(t, rules.Hedged.Load())
	rules.Budget.Return(later)

	requests = soon * (hedge + 1)
	require.True(t, rules.Leave(both))
	require.EqualValues(t, soon, rules.Hedged.Load())
	require.False(t, rules.Hedge.Has())
	for rules.Budget.Take(1) {
	}
	require.False(t, rules.Leave(both))
	require.EqualValues(t, soon, rules.Hedged.Load())
}

// A read that left a node does not go back while the other node also looks silent.
func TestLeftForGood(t *testing.T) {
	top := oneShard(1)
	top.Nodes[0].rules.Watch.state.Store(watchAiling)
	top.Nodes[0].rules.Budget = send.NewBudget(new(counted), send.BudgetShare)
	s := top.Shards[0]
	silence(s, stallMoves, 0)
	silence(s, stallMoves+ms, stallMoves+ms)
	require.Equal(t, s.Nodes[0].spared.Load(), s.Nodes[1].spared.Load())
	assert.Equal(t, map[string]int{s.Nodes[0].Addr: 700}, draws(top, even))
	silence(s, 0, stallMoves+ms)
	assert.Equal(t, map[string]int{s.Nodes[1].Addr: 700}, draws(top, even), "it answers again")
}

// If all nodes count as silent, reads take a connection that is not silent.
func TestDetour(t *testing.T) {
	top := oneShard(1)
	rules, nodes := top.Nodes[0].rules, top.Shards[0].Nodes
	rules.Watch.state.Store(watchAiling)
	spec := even
	spec.Seed = FixedSeed(0)
	for _, n := range nodes {
		n.Links[0].is(5 * ms)
	}
	nodes[0].spared.Store(allSpared)
	require.Equal(t, nodes[1], top.Route(&spec).Node, "it takes reads")
	nodes[1].spared.Store(allSpared)
	require.Equal(t, nodes[0].Links[1], top.Route(&spec))
	nodes[0].Links[0].lets.Store(true)
	require.Equal(t, nodes[1].Links[1], top.Route(&spec), "reads may leave the other node")
	nodes[0].Links[0].lets.Store(false)
	spec.Avoid = nodes[0].Links[1]
	require.Equal(t, nodes[1].Links[1], top.Route(&spec))
	for _, n := range nodes {
		n.Links[1].is(5 * ms)
	}
	require.NotNil(t, top.Route(&spec))
	assert.Nil(t, detour(nodes, nil))
}
