package engine

import (
	"container/list"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/internal/timing"
	"github.com/joomcode/redispipe/redis"
)

// queue is where requests enter.
type queue struct {
	opts Opts

	mu sync.Mutex // guards the fields from here to others
	gate
	flight
	rights
	meter
	listening
	others func() int64 // set by Shares

	mostWaited int // set by newQueue: see policy.go

	// load is concurrency, to be read without the lock, and so is crowded.
	load    atomic.Int64
	crowded atomic.Bool
	// withheld is set by withhold, under the lock, and never cleared.
	withheld atomic.Bool
	// admitted is set by admitWaiting, under the lock, and cleared by the next Enter.
	admitted atomic.Bool
}

// newQueue makes a queue. It is disconnected.
func newQueue(o Opts) *queue {
	q := &queue{opts: o, mostWaited: mostWaited(runtime.GOMAXPROCS(0))}
	q.maxRequests, q.maxBytes = o.MaxRequests, o.MaxBytes
	return q
}

// stat makes the statistics of a request, or returns nil.
func (q *queue) stat(r *send.Request) *timing.Stat {
	if q.opts.Stat == nil {
		return nil
	}
	return q.opts.Stat(r)
}

// Shares says whether the queue's callers also send to other servers: then pending returns the number
// of requests that are pending at any of them; otherwise it is nil.
func (q *queue) Shares(pending func() int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.others, q.everywhere = pending, 0
}

// Withheld reports whether users' requests are no longer written.
func (q *queue) Withheld() bool { return q.withheld.Load() }

// gate admits requests while there is room. Callers that wait for room are admitted in the order of
// arrival. All fields are guarded by queue.mu.
type gate struct {
	maxRequests, maxBytes int

	state State
	why   *errorx.Error // the error that ended the connection, while disconnected

	pending  int  // requests accepted and not answered
	internal int  // how many of pending are the library's own
	bytes    int  // bytes accepted and not taken
	held     load // the parts of divided batches that have not entered; neither pending nor bytes count them
	// lingering counts withdrawn requests whose bytes are still in the open batch.
	lingering int

	waiting list.List // of waiter, oldest first
	// restored is closed when the connection is restored, or takes no more requests: see Restored.
	restored chan struct{}
	// draining is set by Drain, and closed when no user's request is pending.
	draining chan struct{}
	drained  bool
	// looksAgain is set while a timer for lookAgain runs.
	looksAgain bool
}

// load is the requests that one caller enters together.
type load struct {
	requests, bytes int
}

// loadOf returns the load of requests.
func loadOf(reqs []*send.Request) (l load) {
	l.requests = len(reqs)
	for _, r := range reqs {
		l.bytes += len(r.Buf)
	}
	return l
}

// plus returns both loads.
func (l load) plus(more load) load { return load{l.requests + more.requests, l.bytes + more.bytes} }

// minus returns what is left of a load.
func (l load) minus(less load) load { return load{l.requests - less.requests, l.bytes - less.bytes} }

// waiter is a caller that waits for room.
type waiter struct {
	load
	woken chan struct{}
}

func (g *gate) fits(l load) bool {
	l = l.plus(g.held)
	return g.pending+g.lingering+l.requests <= g.maxRequests && g.bytes+l.bytes <= g.maxBytes
}

// errFull returns an error that names the bound that the requests exceed.
func (g *gate) errFull(l load) *errorx.Error {
	if bytes := g.bytes + g.held.bytes; bytes+l.bytes > g.maxBytes {
		return redis.ErrQueueFull.New("the queue is full: %d bytes are not written yet, and Opts.MaxBytes is %d", bytes, g.maxBytes)
	}
	return redis.ErrQueueFull.New("the queue is full: %d requests are not answered yet, and Opts.MaxRequests is %d", g.pending+g.lingering+g.held.requests, g.maxRequests)
}

// admitWaiting wakes the callers that wait for room, oldest first, while there is room for them; all
// of them if the connection is lost. Call it when there may be more room, or when no user's request is
// pending any more.
func (q *queue) admitWaiting() {
	if q.draining != nil && q.pending == q.internal && !q.drained {
		q.drained = true
		close(q.draining)
	}
	for let := (load{}); q.waiting.Len() > 0; {
		first := q.waiting.Front().Value.(waiter)
		if q.state.Accepts() && !q.fits(let.plus(first.load)) && q.pending+let.requests > 0 {
			if q.pending == 0 && !q.looksAgain {
				q.looksAgain = true
				time.AfterFunc(lookAgainAfter, q.lookAgain)
			}
			return
		}
		let = let.plus(first.load)
		q.waiting.Remove(q.waiting.Front())
		q.admitted.Store(true)
		first.woken <- struct{}{}
	}
}

// lookAgainAfter is how long the queue waits for admitted callers while nothing is pending. After
// that the queue assumes that they do not come, and admits others. If they were only late, they may
// find no room and wait again.
const lookAgainAfter = time.Millisecond

// lookAgain admits further callers if the admitted ones have not come: a request may go to another
// server when it is sent again. If nothing is pending, nothing else calls admitWaiting. A timer calls
// lookAgain.
func (q *queue) lookAgain() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.looksAgain = false; q.pending == 0 {
		q.admitWaiting()
	}
}

// flight is the batches in the order of the wire: those in flight, and the open one behind them. A batch
// is in flight from when it is about to be written until its last reply was read. If a caller reads, its
// last batch stays in flight until the caller passes on the right to read. All fields are guarded by
// queue.mu.
type flight struct {
	open *batch // nil when empty
	// asksFutures: a batch was taken and is not in flight yet, since its futures are being
	// asked whether they are cancelled. Until then only the loop may get the right to
	// read, because requests after it must not overtake those futures.
	asksFutures bool
	head, tail  *batch
	seq         uint64 // sequence number of the next request
	last        *batch // a small empty batch, with its buffer, to be used next; may be nil
	spares      spares
}

// listening tracks callers that have not been told to listen to their contexts: see send.Caller.
// All fields are guarded by queue.mu.
type listening struct {
	due    bool          // somebody calls listen soon
	told   uint64        // callers of requests with lower sequence numbers have been told
	called time.Duration // when clock or listen last read the time
}

// listenEvery is the interval at which listen is called while callers wait deaf.
const listenEvery = time.Millisecond

// deafMost is how long a request is pending before its caller is told to listen, whether or not its
// context has ended.
const deafMost = 4 * listenEvery

// State is that of a connection:
//
//	           ┌──────────────── failure ───────────────┐
//	           ▼                                        │
//	disconnected ──── dialing ───► connecting ──── handshake done ──► connected
//	      │                             │                                 │
//	      └────────── Close, or the end of the context ──────► closed ◄───┘
//
// A failure while connecting also leads back to disconnected. Requests are accepted while
// connecting (they wait) and while connected; in the other states they end at once, not
// sent. [queue.Change] makes all changes.
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

// rights are the two rights of a connection, each with one holder at a time. They change
// hands under queue.mu; the holder acts without the lock, and passes the right on.
//
// The right to write is the right to take the open batch and write it. It goes to
// the sender that finds it free, which writes without blocking. What the socket does
// not take at once, and what has come in the meantime, goes with the right to the
// writer goroutine. A sender that lets others run first (yields) can lose the right to
// one whose request fills the batch.
//
// Nobody has it while the open batch is postponed: see policy.go.
//
// The right to read goes to the oldest request that waits for its reply: its caller
// reads, in its own goroutine, up to its own reply, and passes the right to the
// oldest request that is left (see [send.Reader]). So each caller decodes its
// own reply, and at low concurrency nobody runs but callers.
//
//	              ┌── the oldest is a caller's ──► caller ──┐
//	nobody ──► a request comes                       │      │ its reply is read, or its
//	   ▲          └── it is another future's ──► loop │      │ context has ended
//	   │                                          ▲   └──────┤
//	   └──────── nothing is pending ──────────────┴──────────┘
//
// The reader goroutine (loop) has it in a crowd (see [queue.crowded]), when the oldest request has a
// future of the user's, which must not run in a caller's goroutine, or when nobody waits for the
// oldest; in a session without mayPass it always has the right. When nothing is pending, nobody has
// the right, because waking the loop for each lone request would cost a third of the request's time.
// The next writer first checks whether the server has closed the socket or sent unsolicited bytes,
// and the loop takes the right when nobody has read for a while. If the socket can't be checked, and
// with RESP3, which has pushes, the loop has the right instead of nobody.
//
// If nobody reads, nothing is pending and nobody writes. So a request that finds the
// right to read free finds both free. If a caller waits for it, that caller checks, writes
// and then reads, even if another goroutine has sent the request. Otherwise the sender
// checks, and wakes the loop before it writes.
type rights struct {
	session *Session // set while connected

	writing bool
	// yielding is the number of the turn in which the holder of the right to write lets others run.
	// Another goroutine can take the right by clearing yielding.
	yielding, turn uint64
	yieldedWith    int // requests in the open batch when the turn began
	// released is closed when nobody has the right to write any more. It is nil unless somebody
	// waits for that.
	released chan struct{}

	reading readHolder
	// read is set by every goroutine that reads, and cleared by takeRead.
	read bool
}

// readHolder says which goroutine has the right to read.
type readHolder uint8

const (
	readNobody readHolder = iota
	readLoop
	readCaller
)

// awaitRelease returns when nobody has the right to write.
func (q *queue) awaitRelease() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.awaitReleaseLocked()
}

// awaitReleaseLocked is awaitRelease for a caller that has the lock. It releases the lock while it
// waits.
func (q *queue) awaitReleaseLocked() {
	for q.writing {
		if q.released == nil {
			q.released = make(chan struct{})
		}
		released := q.released
		q.mu.Unlock()
		<-released
		q.mu.Lock()
	}
}
