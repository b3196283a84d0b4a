package route

import (
	"math"
	"math/bits"
	"slices"
	"sync/atomic"
	"time"

	"github.com/joomcode/redispipe/internal/backend"
	"github.com/joomcode/redispipe/internal/timing"
)

// Watch notices nodes that have stopped answering, so that reads go to other nodes of the shard. At
// intervals, a timer looks at the requests on all links. It stops when no request waits, and the next
// routed read starts it again. The timer may stop after a read was routed and before it is in the queue,
// so a caller that waits for its read starts it, too. While all nodes answer, routing a read costs only
// one comparison more.
//
// The goroutine that changes state from watchRests owns the fields below shards, and the fields of
// links and nodes whose comments say that the Watch owns them. It passes the ownership on to the timer,
// which keeps it until state is watchRests again.
type Watch struct {
	state  atomic.Int32
	shards atomic.Pointer[[]*Shard] // any goroutine may read and replace it
	// looked is the time of the last look, by timing.Clock. late counts the looks in a row that came too
	// late: the process had not run, so replies that had arrived may not have been read yet.
	looked time.Duration
	late   int
	every  time.Duration // the time between two looks
}

// States of a Watch.
const (
	watchRests  = iota // the next routed read starts the timer
	watchWell          // all nodes take their shares of reads
	watchAiling        // the shares of some nodes go to others
)

const (
	// The Watch looks at the links every lookLeast or, if there are many links, every lookPerLink times
	// their number.
	lookLeast   = time.Millisecond
	lookPerLink = 10 * time.Microsecond
	// A link stalls when it has been silent for stallTrips round trips, and at least for stallLeast.
	// If only one request waits, it must be silent for at least stallAlone, because that request may
	// just take long. With Rules.Hedge stallAlone does not apply.
	stallTrips = 4
	stallLeast = time.Millisecond
	stallAlone = 10 * time.Millisecond
	// A node that answers again gets its share back little by little, within recoverTimes the duration
	// of its silence, but at most recoverMost.
	recoverTimes = 10
	recoverMost  = 2 * time.Second
	// If replies have arrived that nobody has read yet, this process is slow, not the server, and the
	// node does not count as silent. After unreadMost it counts as silent anyway, so that the waiting
	// reads are answered.
	unreadMost = 100 * time.Millisecond
	// allSpared is the value of spared for a node's whole share.
	allSpared = 16
	// lateMost is how many late looks in a row judge no node, because the process had not run.
	lateMost = 3
)

// Over makes the Watch watch the nodes of a topology.
func (w *Watch) Over(t *Snapshot) { w.shards.Store(&t.Shards) }

// begin starts the timer, unless it is running.
func (w *Watch) begin() {
	if w.state.Load() != watchRests || !w.state.CompareAndSwap(watchRests, watchAiling) {
		return
	}
	w.every, w.late, w.looked = lookLeast, 0, timing.Clock()
	time.AfterFunc(w.every, w.look)
}

// look looks at all links once, and schedules the next look unless no request waits.
func (w *Watch) look() {
	var shards []*Shard
	if over := w.shards.Load(); over != nil {
		shards = *over
	}
	now := timing.Clock()
	busy, came, links, state := false, false, 0, int32(watchWell)
	for _, s := range shards {
		for _, n := range s.Nodes {
			waits, moved := n.look(now)
			busy, came = busy || waits, came || moved
			links += len(n.Links)
		}
	}
	judges := w.onTime(now) || came
	for _, s := range shards {
		for _, n := range s.Nodes {
			if judges {
				n.judge(now)
			}
			if n.spared.Load() > 0 {
				state = watchAiling
			}
		}
	}
	if busy {
		w.state.Store(state) // before reads leave, so that they don't go back
	}
	for _, s := range shards {
		if judges {
			s.letLeave()
		}
	}
	if !busy {
		w.state.Store(watchRests)
		if slices.ContainsFunc(shards, (*Shard).waits) { // its caller may have seen the timer run
			w.begin()
		}
		return
	}
	w.every = max(lookLeast, time.Duration(links)*lookPerLink)
	time.AfterFunc(w.every, w.look)
}

// onTime reports whether the process has run since the last look, so that everything that arrived
// has been read.
func (w *Watch) onTime(now time.Duration) bool {
	if now-w.looked > 2*w.every && w.late < lateMost {
		w.late++
	} else {
		w.late = 0
	}
	w.looked = now
	return w.late == 0
}

// health records whether a node answers. The Watch owns all fields but spared.
type health struct {
	// spared is the part of the node's share of reads that goes to other nodes: 0 is none of it, and allSpared
	// is all of it. While the node is silent, spared is allSpared or more, and grows.
	spared atomic.Uint32
	// stalled is the time when the node fell silent, and answers the time when it answered again, both
	// by timing.Clock; 0 if it has not.
	stalled, answers time.Duration
	// up and silent are from the last look: whether the node has a connection, and how long it has been
	// silent, or 0 if that is no longer than usual.
	up     bool
	silent time.Duration
}

// takes reports whether the node takes a read for which the seed has returned number.
func (h *health) takes(number uint32) bool {
	spared := h.spared.Load()
	return spared == 0 || (number*0x85EBCA6B)>>28 >= spared
}

// answering returns the nodes that take a read for which the seed has returned number. If no node
// answers, it returns those that reads do not leave and that have been silent for the shortest time,
// because the others may never answer.
func answering(nodes []*Node, number uint32) []*Node {
	nodes = preferred(nodes, (*Node).keepsReads)
	least := uint32(math.MaxUint32)
	for _, n := range nodes {
		least = min(least, max(n.spared.Load(), allSpared-1))
	}
	nodes = preferred(nodes, func(n *Node) bool { return n.spared.Load() <= least })
	return preferred(nodes, func(n *Node) bool { return n.takes(number) })
}

// keepsReads reports whether no read may leave the node. A read that has left it must not go back when all
// other nodes look silent for a moment.
func (n *Node) keepsReads() bool { return !slices.ContainsFunc(n.Links, (*Link).Lets) }

// Silent reports whether the node has stopped answering.
func (n *Node) Silent() bool { return n.spared.Load() >= allSpared }

// waits reports whether a request waits for one of the shard's nodes.
func (s *Shard) waits() bool {
	return slices.ContainsFunc(s.Nodes, func(n *Node) bool {
		return slices.ContainsFunc(n.Links, func(l *Link) bool { return l.Up() && l.Backend.Flight().Pending > 0 })
	})
}

// look looks at the links of the node. busy reports whether the Watch must look again soon, and came
// whether anything has arrived from the node.
func (n *Node) look(now time.Duration) (busy, came bool) {
	n.up, n.silent = false, 0
	alone := stallAlone
	if n.rules.Hedge != nil {
		alone = 0
	}
	for _, l := range n.Links {
		if !l.Up() {
			l.is(0)
			continue
		}
		n.up = true
		f := l.Backend.Flight()
		silent, moved := l.pulse.silent(now, f, alone)
		if silent > 0 && silent <= unreadMost && l.Backend.Unread() {
			silent = 0
		}
		l.is(silent)
		n.silent = max(n.silent, silent)
		busy, came = busy || f.Pending > 0, came || moved
	}
	return busy || n.up && n.spared.Load() > 0, came
}

// letLeave lets the reads that wait on silent links of the shard leave, if another link may answer them.
func (s *Shard) letLeave() {
	well := len(s.Nodes) > 1 && slices.ContainsFunc(s.Nodes, func(n *Node) bool {
		return n.readable(syncLive) && slices.ContainsFunc(n.Links, (*Link).answers)
	})
	for _, n := range s.Nodes {
		for _, l := range n.Links {
			switch {
			case l.silent == 0:
				l.keep()
			case well:
				l.letLeave()
			}
		}
	}
}

// judge updates the health after a look. It leaves a node without a connection as it is, because no read
// goes to it anyway.
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

// pulse is the progress of a link's replies at the last look. The Watch owns it.
type pulse struct {
	mark  uint64        // Flight.Mark
	moved time.Duration // the time of the last look that found another mark
}

// silent returns how long nothing has arrived although requests are in flight, or 0 if that is no longer
// than usual. If a single request is in flight, silence of up to alone is usual. came reports whether
// anything has arrived since the last look.
func (p *pulse) silent(now time.Duration, f backend.Flight, alone time.Duration) (silent time.Duration, came bool) {
	if came = f.Mark != p.mark; came {
		p.mark, p.moved = f.Mark, now
	}
	patience := max(stallLeast, stallTrips*f.MinTrip)
	if f.Pending == 1 {
		patience = max(patience, alone)
	}
	if silent = now - max(p.moved, f.Since); f.Since == 0 || silent <= patience {
		silent = 0
	}
	return silent, came
}
