package route

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/backend"
)

const ms = time.Millisecond

// The timer stops if a read was routed but is not in the queue yet. A caller that waits for its read starts the timer
// again, so that the read can leave a node that stops answering.
func TestWaitingCallerStartsWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var rules Rules
		l := NewLink(rules.NewNode("node:1", false, ""))
		for _, stalled := range []func() context.Context{l.Stalled, rules.Stalled} {
			rules.Watch.begin()
			time.Sleep(2 * lookLeast)
			require.EqualValues(t, watchRests, rules.Watch.state.Load())
			require.NoError(t, stalled().Err())
			require.NotEqualValues(t, watchRests, rules.Watch.state.Load())
			time.Sleep(2 * lookLeast)
		}
	})
}

// A link is silent if requests are in flight and no bytes arrive for some round trips.
func TestSilent(t *testing.T) {
	const minTrip = 2 * ms
	for _, c := range []struct {
		name string
		at   time.Duration
		f    backend.Flight
		want time.Duration
	}{
		{"nothing in flight", 0, backend.Flight{MinTrip: minTrip}, 0},
		{"in flight since not long", 20 * ms, backend.Flight{Since: 15 * ms, MinTrip: minTrip}, 0},
		{"just as long as some round trips", 23 * ms, backend.Flight{Since: 15 * ms, MinTrip: minTrip}, 0},
		{"longer", 24 * ms, backend.Flight{Since: 15 * ms, MinTrip: minTrip}, 9 * ms},
		{"something came", 25 * ms, backend.Flight{Since: 15 * ms, Mark: 7, MinTrip: minTrip}, 0},
		{"that was recently", 33 * ms, backend.Flight{Since: 15 * ms, Mark: 7, MinTrip: minTrip}, 0},
		{"that was long ago", 34 * ms, backend.Flight{Since: 15 * ms, Mark: 7, MinTrip: minTrip}, 9 * ms},
		{"other requests are in flight", 35 * ms, backend.Flight{Since: 30 * ms, Mark: 7, MinTrip: minTrip}, 0},
		{"round trips are short", 36 * ms, backend.Flight{Since: 36*ms - stallLeast, Mark: 7}, 0},
		{"round trips are short, and it is silent", 37 * ms, backend.Flight{Since: 37*ms - stallLeast - 1, Mark: 7}, stallLeast + 1},
		{"one alone", 40 * ms, backend.Flight{Since: 40*ms - stallAlone, Mark: 7, Pending: 1}, 0},
		{"one alone, and it is silent", 40 * ms, backend.Flight{Since: 40*ms - stallAlone - 1, Mark: 7, Pending: 1}, stallAlone + 1},
	} {
		p := &pulse{}
		if c.f.Mark != 0 {
			p.silent(25*ms, backend.Flight{Mark: c.f.Mark}, stallAlone)
		}
		silent, _ := p.silent(c.at, c.f, stallAlone)
		assert.Equal(t, c.want, silent, c.name)
	}
}

// A node loses its share at once, and gets it back over a time that depends on how long it was
// silent.
func TestJudge(t *testing.T) {
	for _, c := range []struct {
		silent, whole time.Duration
	}{{2 * ms, 20 * ms}, {100 * ms, time.Second}, {time.Minute, recoverMost}} {
		h := &health{}
		fell := time.Hour
		judge(h, fell, 0)
		require.True(t, h.takes(1))
		judge(h, fell+c.silent/2, c.silent/2)
		require.GreaterOrEqual(t, h.spared.Load(), uint32(allSpared))
		for number := range uint32(100) {
			require.False(t, h.takes(number))
		}
		back := fell + c.silent
		judge(h, back-1, c.silent-1)
		judge(h, back, 0)
		require.Equal(t, uint32(allSpared-1), h.spared.Load(), "a part to begin with")
		judge(h, back+c.whole/2, 0)
		require.Equal(t, uint32(allSpared/2), h.spared.Load())
		taken := 0
		for number := range uint32(1600) {
			if h.takes(number) {
				taken++
			}
		}
		require.InDelta(t, 800, taken, 80)
		judge(h, back+c.whole, 0)
		require.Zero(t, h.spared.Load())
		require.True(t, h.takes(1))
	}

	h := &health{}
	judge(h, 10*ms, 5*ms)
	judge(h, 12*ms, 0)
	judge(h, 20*ms, 3*ms)
	require.GreaterOrEqual(t, h.spared.Load(), uint32(allSpared), "it falls silent again")
	judge(h, 21*ms, 0)
	judge(h, 21*ms+10*4*ms, 0)
	require.Zero(t, h.spared.Load())

	judge(h, time.Minute, 5*ms)
	h.up, h.silent = false, 0
	h.judge(2 * time.Minute)
	require.GreaterOrEqual(t, h.spared.Load(), uint32(allSpared), "it has no connection")
}

func judge(h *health, now, silent time.Duration) {
	h.up, h.silent = true, silent
	h.judge(now)
}

// flying is the backend of a connection with a request in flight.
type flying struct {
	backend.Conn
	since  time.Duration
	unread bool
}

func (f *flying) Flight() backend.Flight { return backend.Flight{Since: f.since} }
func (f *flying) Unread() bool           { return f.unread }

// A node does not count as silent while its replies wait to be read, but only for a limited time.
func TestUnreadRepliesAreNoSilence(t *testing.T) {
	n := oneShard(0).Nodes[0]
	inner := &flying{since: time.Hour}
	n.Links = n.Links[:1]
	n.Links[0].Backend = inner
	silent := func(since time.Duration, unread bool) time.Duration {
		inner.unread = unread
		n.look(time.Hour + since)
		return n.silent
	}
	assert.Equal(t, stallMoves, silent(stallMoves, false))
	assert.Zero(t, silent(stallMoves, true))
	assert.Zero(t, silent(unreadMost, true))
	assert.Equal(t, unreadMost+ms, silent(unreadMost+ms, true))
}

// If the process has not run for some time, the Watch judges no server, but only for a limited time.
func TestWatchOnTime(t *testing.T) {
	w := &Watch{every: ms}
	assert.True(t, w.onTime(ms))
	for i := range lateMost {
		assert.False(t, w.onTime(time.Duration(i+1)*10*ms))
	}
	assert.True(t, w.onTime(100*ms))
}

// Reads go to the answering nodes that have a weight above zero. If there are none, they go to all nodes.
func TestRouteAroundSilence(t *testing.T) {
	top := oneShard(2)
	rules := top.Nodes[0].rules
	rules.Watch.state.Store(watchAiling)
	top.Nodes[1].spared.Store(allSpared)
	counts := draws(top, even)
	assert.Zero(t, counts["r0:1"])
	assert.InDelta(t, 350, counts["a:1"], 20)
	assert.Equal(t, map[string]int{"a:1": 700}, draws(top, Spec{}), "writes have no choice")

	top.Nodes[2].Local.Store(true)
	assert.Equal(t, map[string]int{"r1:1": 700}, draws(top, even))
	top.Nodes[1].Local.Store(true)
	top.Nodes[2].Local.Store(false)
	assert.Zero(t, draws(top, even)["r0:1"], "another zone is better")

	top.Nodes[1].spared.Store(allSpared / 2)
	top.Nodes[1].Local.Store(false)
	counts = draws(top, even)
	assert.InDelta(t, 117, counts["r0:1"], 30)

	top.Nodes[1].spared.Store(allSpared)
	top.Nodes[0].Weight.Store(0)
	top.Nodes[2].Weight.Store(0)
	assert.Equal(t, map[string]int{"r0:1": 700}, draws(top, even), "no other has a weight")

	for _, n := range top.Nodes {
		n.Weight.Store(1)
		n.spared.Store(allSpared - 1)
		for _, l := range n.Links {
			l.is(ms)
		}
	}
	top.Nodes[1].spared.Store(allSpared)
	assert.Zero(t, draws(top, even)["r0:1"], "the others answer, though not for long")
	top.Nodes[0].spared.Store(allSpared + 1)
	top.Nodes[2].spared.Store(allSpared + 1)
	assert.Equal(t, map[string]int{"r0:1": 700}, draws(top, even), "it has been silent for the least time")
	top.Nodes[1].spared.Store(allSpared + 1)
	for addr, n := range draws(top, even) {
		assert.InDelta(t, 233, n, 20, addr)
	}
}
