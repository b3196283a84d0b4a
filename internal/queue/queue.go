// Package queue is where requests are between being encoded and being resolved: in the open
// batch until they are written, and in batches in flight until they are answered. It says
// who may write and who may read; what it says is done in package pipe. It does no I/O,
// resolves nothing and logs nothing, so that none of that is ever done under its lock.
package queue

import (
	"container/list"
	"context"
	"sync"
	"sync/atomic"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/peer"
	"github.com/joomcode/redispipe/redis"
)

// Opts are the options of a queue.
type Opts struct {
	// Ctx is the connection's: nothing enters when it has ended.
	Ctx context.Context
	// MaxRequests bounds the pending requests, MaxBytes the bytes of those that are not
	// taken.
	MaxRequests, MaxBytes int
	// Fenced has each batch end with a PING: see [Batch.Fence].
	Fenced bool
	// Postpones: batches may wait for more, see policy.go.
	Postpones bool
}

// Queue is where requests enter.
type Queue struct {
	ctx       context.Context
	fenced    bool
	postpones bool

	mu sync.Mutex // guards these five, and several
	gate
	flight
	rights
	meter
	listening
	several bool // see Several

	// load is concurrency, to be read without the lock.
	load atomic.Int64
	// withheld is set by Withhold, under the lock, and never cleared.
	withheld atomic.Bool
}

// New makes a queue. It is disconnected.
func New(o Opts) *Queue {
	q := &Queue{ctx: o.Ctx, fenced: o.Fenced, postpones: o.Postpones}
	q.maxRequests, q.maxBytes = o.MaxRequests, o.MaxBytes
	return q
}

// Several says whether the queue's callers send to other servers, too.
func (q *Queue) Several(several bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.several = several
}

// Withheld reports whether nothing of the users' is written any more.
func (q *Queue) Withheld() bool { return q.withheld.Load() }

// gate admits requests as long as there is room. Callers that wait for room are admitted
// in the order in which they came. All of it is guarded by Queue.mu.
type gate struct {
	maxRequests, maxBytes int

	state State
	why   *errorx.Error // what ended the connection, while disconnected

	pending int // requests accepted and not answered
	own     int // how many of pending are the library's own
	bytes   int // bytes accepted and not taken
	// lingering counts requests that were withdrawn, but whose bytes are still in the
	// open batch.
	lingering int

	waiting list.List // of waiter, oldest first
	// draining is set by Drain, and closed when nothing of the users' is pending.
	draining chan struct{}
	drained  bool
}

// waiter is a caller that waits for room.
type waiter struct {
	requests int
	woken    chan struct{}
}

// admit returns nil if so many requests may enter, and otherwise their error. If nothing
// is pending, more requests than the bound may enter together.
func (g *gate) admit(requests int) *errorx.Error {
	switch {
	case g.state == Closed || g.draining != nil:
		return peer.Closed(context.Background()) // its own context lasts: see admitEntry
	case g.state == Disconnected:
		return peer.ErrNotConnected.Wrap(g.why, "not connected")
	case g.pending > 0 && !g.fits(requests):
		return redis.ErrQueueFull.New("queue is full: %d requests, %d bytes not written", g.pending, g.bytes)
	}
	return nil
}

func (g *gate) fits(requests int) bool {
	return g.pending+g.lingering+requests <= g.maxRequests && g.bytes < g.maxBytes
}

// letIn lets in as many of the callers that wait for room as there is room for; all of
// them, when the connection is lost. It is called when there may be more room, or nothing
// of the users' is pending any more.
func (g *gate) letIn() {
	if g.draining != nil && g.pending == g.own && !g.drained {
		g.drained = true
		close(g.draining)
	}
	for let := 0; g.waiting.Len() > 0; {
		first := g.waiting.Front().Value.(waiter)
		if g.state.Accepts() && !g.fits(let+first.requests) && g.pending+let > 0 {
			return
		}
		let += first.requests
		g.waiting.Remove(g.waiting.Front())
		first.woken <- struct{}{}
	}
}

// State is that of a connection:
//
//	           ┌──────────────── failure ───────────────┐
//	           ▼                                        │
//	disconnected ──── dialing ───► connecting ──── handshake done ──► connected
//	      │                             │                                 │
//	      └────────── Close, or the end of the context ──────► closed ◄───┘
//
// A failure while connecting leads back to disconnected, too. Requests are accepted while
// connecting (they wait) and while connected; in the other states they end at once, not
// sent. [Queue.Change] makes all changes.
type State uint8

// The states.
const (
	Disconnected State = iota
	Connecting
	Connected
	Closed
)

// Accepts reports whether requests are accepted.
func (s State) Accepts() bool { return s == Connecting || s == Connected }

// String implements fmt.Stringer.
func (s State) String() string {
	return [...]string{"disconnected", "connecting", "connected", "closed"}[s]
}

// Change changes the state. s is the session if the state is [Connected]; why is the error
// that has ended the connection if it is [Disconnected]. A closed queue stays closed. If it
// returns true, there is an open batch already: the caller has to wake the writer of s,
// which has the right to write.
func (q *Queue) Change(to State, s *Session, why *errorx.Error) (start bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.state != Closed {
		q.countChange(to)
		q.state, q.session, q.why = to, s, why
		q.reading = readLoop // the loop of a new session starts with the right to read
		start = s != nil && q.open != nil && !q.writing
		q.writing = q.writing || start
	}
	if !q.state.Accepts() {
		q.letIn()
	}
	return start
}

// countChange counts a change of state.
func (q *Queue) countChange(to State) {
	switch {
	case to == Connected:
		q.stats.Connects++
	case q.state == Connected && to == Disconnected:
		q.stats.Disconnects++
	case q.state == Connecting && to == Disconnected:
		q.stats.FailedDials++
	}
	if q.session != nil {
		q.stats.ReadBytes += uint64(q.session.Received())
	}
}

// State returns the state.
func (q *Queue) State() State {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.state
}

// Abort waits until nobody writes, and returns everything that is left: the batches in
// flight and the open one. The state must be one in which nothing is accepted.
func (q *Queue) Abort() (inflight, open *Batch) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.awaitRelease()
	inflight, open = q.head, q.open
	q.head, q.tail, q.open = nil, nil, nil
	q.pending, q.own, q.bytes, q.lingering, q.concurrency = 0, 0, 0, 0, 0
	q.letIn()
	return inflight, open
}

// Trim drops what is kept for reuse if the connection is idle, and reports whether it is.
func (q *Queue) Trim() (idle bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.spares.trim(q.seq)
}
