package route

import (
	"math"
	"math/bits"
	"sync/atomic"
	"time"

	"github.com/joomcode/redispipe/internal/backend"
	"github.com/joomcode/redispipe/internal/timing"
)

// Watch notices nodes that have stopped answering, while reads are routed: those reads go to other
// nodes of the shard. A timer looks at the requests in flight of all links at intervals, and rests when
// nothing is in flight. So a lookup costs one comparison while all is well.
//
// Whoever changes state from watchRests owns the rest, and what the links and nodes say that a Watch
// owns. It passes that to the timer, which has it until state is watchRests again.
type Watch struct {
	state atomic.Int32
	nodes atomic.Pointer[[]*Node] // anybody may read and replace it
	// looked is when it looked last, by timing.Clock; late is how many times in a row that was too late
	// to judge servers, unless something came: what had come by then may not have been read yet.
	looked time.Duration
	late   int
	every  time.Duration // until it looks again
}

// States of a Watch.
const (
	watchRests = iota // the next lookup begins it
	watchWell         // all nodes take their shares of reads
	watchAiling
)

const (
	// A watch looks at the links at intervals of lookLeast or, if there are many, of lookPerLink for each.
	lookLeast   = time.Millisecond
	lookPerLink = 10 * time.Microsecond
	// A link stalls when it has been silent for stallTrips round trips, and for stallLeast; for stallAlone
	// if only one request waits, which may as well be one that takes long.
	stallTrips = 4
	stallLeast = time.Millisecond
	stallAlone = 10 * time.Millisecond
	// A node that answers again gets its share back in recoverTimes the time for which it was silent, and
	// in recoverMost at the most.
	recoverTimes = 10
	recoverMost  = 2 * time.Second
	// allSpared is all of a node's share, as parts of which spared counts.
	allSpared = 16
	// lateMost is how many times in a row no node is judged since the process has not run.
	lateMost = 3
)

// Over makes the nodes of a topology those that are watched.
func (w *Watch) Over(t *Snapshot) { w.nodes.Store(&t.Nodes) }

// begin begins to watch, unless that is so already.
func (w *Watch) begin() {
	if w.state.Load() != watchRests || !w.state.CompareAndSwap(watchRests, watchAiling) {
		return
	}
	w.every, w.late, w.looked = lookLeast, 0, timing.Clock()
	time.AfterFunc(w.every, w.look)
}

// look looks at all links once, and again later unless nothing is in flight.
func (w *Watch) look() {
	var nodes []*Node
	if over := w.nodes.Load(); over != nil {
		nodes = *over
	}
	now := timing.Clock()
	busy, came, links, state := false, false, 0, int32(watchWell)
	for _, n := range nodes {
		waits, moved := n.look(now)
		busy, came = busy || waits, came || moved
		links += len(n.Links)
	}
	if onTime := w.onTime(now); onTime || came {
		for _, n := range nodes {
			n.judge(now)
		}
	}
	for _, n := range nodes {
		if n.spared.Load() > 0 {
			state = watchAiling
		}
	}
	if !busy {
		w.state.Store(watchRests)
		return
	}
	w.every = max(lookLeast, time.Duration(links)*lookPerLink)
	w.state.Store(state)
	time.AfterFunc(w.every, w.look)
}

// onTime reports whether the process has run since the last time, so that what has come was read.
func (w *Watch) onTime(now time.Duration) bool {
	if now-w.looked > 2*w.every && w.late < lateMost {
		w.late++
	} else {
		w.late = 0
	}
	w.looked = now
	return w.late == 0
}

// health is how a node answers. The Watch owns all but spared.
type health struct {
	// spared is how many parts of its share in reads go to other nodes: see allSpared. It is allSpared or
	// more while the node is silent, and the more the longer that lasts.
	spared atomic.Uint32
	// stalled is when it fell silent, and answers when it answered again, by timing.Clock; 0: it did not.
	stalled, answers time.Duration
	// What look has seen last: whether there is a connection, and for how long the node has been silent,
	// 0 if that is no longer than usual.
	up     bool
	silent time.Duration
}

// takes reports whether the node takes the read that draws the number.
func (h *health) takes(number uint32) bool {
	spared := h.spared.Load()
	return spared == 0 || (number*0x85EBCA6B)>>28 >= spared
}

// answering returns those of the nodes that take the read that draws the number. If no node answers, it
// returns those that have been silent for the least time: the others may never answer.
func answering(nodes []*Node, number uint32) []*Node {
	least := uint32(math.MaxUint32)
	for _, n := range nodes {
		least = min(least, max(n.spared.Load(), allSpared-1))
	}
	nodes = preferred(nodes, func(n *Node) bool { return n.spared.Load() <= least })
	return preferred(nodes, func(n *Node) bool { return n.takes(number) })
}

// Silent reports whether the node has stopped answering.
func (n *Node) Silent() bool { return n.spared.Load() >= allSpared }

// look looks at the links of the node. It reports whether that has to be done again soon, and whether
// anything has come from it.
func (n *Node) look(now time.Duration) (busy, came bool) {
	n.up, n.silent = false, 0
	for _, l := range n.Links {
		if !l.Up() {
			continue
		}
		n.up = true
		f := l.Inner.Flight()
		silent, moved := l.pulse.silent(now, f)
		n.silent = max(n.silent, silent)
		busy, came = busy || f.Since != 0, came || moved
	}
	return busy || n.up && n.spared.Load() > 0, came
}

// judge takes in what look has seen. While the node has no connection it is not read from anyway.
func (h *health) judge(now time.Duration) {
	switch {
	case !h.up:
	case h.silent > 0:
		if h.stalled == 0 || h.answers != 0 {
			h.stalled, h.answers = now-h.silent, 0
		}
		h.spared.Store(allSpared + uint32(bits.Len64(uint64(h.silent/time.Millisecond))))
	case h.stalled != 0:
		if h.answers == 0 {
			h.answers = now
		}
		whole := min(recoverMost, recoverTimes*(h.answers-h.stalled))
		left := whole - (now - h.answers)
		if left <= 0 {
			h.stalled, h.answers = 0, 0
		}
		h.spared.Store(uint32(max(0, min(allSpared-1, left*allSpared/whole))))
	}
}

// pulse is how far the requests of a link had come when it was looked at last. The Watch owns it.
type pulse struct {
	mark  uint64
	moved time.Duration // when mark had changed
}

// silent returns for how long nothing has come though requests are in flight, 0 if that is no longer than
// usual, and whether anything has come since the last time.
func (p *pulse) silent(now time.Duration, f backend.Flight) (silent time.Duration, came bool) {
	if came = f.Mark != p.mark; came {
		p.mark, p.moved = f.Mark, now
	}
	patience := max(stallLeast, stallTrips*f.Usual)
	if f.Pending == 1 {
		patience = max(patience, stallAlone)
	}
	if silent = now - max(p.moved, f.Since); f.Since == 0 || silent <= patience {
		silent = 0
	}
	return silent, came
}
