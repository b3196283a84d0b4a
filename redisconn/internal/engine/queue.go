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

// queue holds the pending requests of a connection, and decides which goroutine may write and which
// may read.
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

	// load is a copy of concurrency that can be read without the lock. crowded is set while there
	// is a crowd (see policy.go), and can also be read without the lock.
	load    atomic.Int64
	crowded atomic.Bool
	// withheld is set by withhold, under the lock, and never cleared.
	withheld atomic.Bool
	// admitted is set by admitWaiting, under the lock, and cleared by the next Enter.
	admitted atomic.Bool
}

// newQueue returns a disconnected queue.
func newQueue(o Opts) *queue {
	q := &queue{opts: o, mostWaited: mostWaited(runtime.GOMAXPROCS(0))}
	q.maxRequests, q.maxBytes = o.MaxRequests, o.MaxBytes
	return q
}

// stat returns the record that collects the statistics of r, or nil if nobody wants them.
func (q *queue) stat(r *send.Request) *timing.Stat {
	if q.opts.Stat == nil {
		return nil
	}
	return q.opts.Stat(r)
}

// Shares tells the queue that its callers also send to other servers. pending returns the number of
// requests that are pending at all of these servers together. If pending is nil, the callers send
// to this server only.
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

	pending  int  // requests that were accepted and are not answered
	internal int  // how many of the pending requests are the library's own
	bytes    int  // size of the accepted requests that no writer has taken
	held     load // the parts of divided batches that have not entered; not counted in pending and bytes
	// lingering counts withdrawn requests whose bytes are still in the open batch.
	lingering int

	waiting list.List // of waiter, oldest first
	// restored is closed when the connection is restored or will accept no more requests: see
	// Restored.
	restored chan struct{}
	// draining is set by Drain, and closed when no user's request is pending.
	draining chan struct{}
	drained  bool
	// looksAgain is set while a timer for lookAgain runs.
	looksAgain bool
}

// load is the size of the requests that one caller enters together.
type load struct {
	requests, bytes int
}

// loadOf returns the load of reqs.
func loadOf(reqs []*send.Request) (l load) {
	l.requests = len(reqs)
	for _, r := range reqs {
		l.bytes += len(r.Buf)
	}
	return l
}

// plus returns the sum of two loads.
func (l load) plus(more load) load { return load{l.requests + more.requests, l.bytes + more.bytes} }

// minus returns l without less.
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

// errFull returns the error of a request that does not fit, which names the exceeded bound.
func (g *gate) errFull(l load) *errorx.Error {
	if bytes := g.bytes + g.held.bytes; bytes+l.bytes > g.maxBytes {
		return redis.ErrQueueFull.New("the queue is full: %d bytes are not written yet, and Opts.MaxBytes is %d", bytes, g.maxBytes)
	}
	return redis.ErrQueueFull.New("the queue is full: %d requests are not answered yet, and Opts.MaxRequests is %d", g.pending+g.lingering+g.held.requests, g.maxRequests)
}

// admitWaiting wakes callers that wait for room, oldest first, as long as there is room for them.
// If the connection is lost, it wakes all of them. It also closes draining when no user's request
// is pending. Call admitWaiting after a change that may free room or end the last user's request.
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

// lookAgainAfter is how long the queue waits for the requests of admitted callers while nothing is
// pending. Then it assumes that these callers will not send, and admits others. Callers that were
// only late may find no room and wait again.
const lookAgainAfter = time.Millisecond

// lookAgain admits further callers if the admitted ones have sent nothing to this queue: a caller
// may send its request to another server instead. A timer calls lookAgain, because nothing else
// calls admitWaiting while nothing is pending.
func (q *queue) lookAgain() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.looksAgain = false; q.pending == 0 {
		q.admitWaiting()
	}
}

// flight holds the batches in the order in which they are sent: those in flight, then the open one.
// A batch is in flight from when a writer is about to write it until its last reply was read. If a
// caller reads, the batch that ends with the caller's reply stays in flight until the caller passes
// on the right to read. All fields are guarded by queue.mu.
type flight struct {
	open *batch // nil when empty
	// asksFutures is set while take asks the futures of a batch whether they are cancelled. That
	// batch is neither open nor in flight. Until it is in flight, only the loop may get the right
	// to read: the batch is answered first, and a caller must not resolve users' futures.
	asksFutures bool
	head, tail  *batch
	seq         uint64 // sequence number of the next request
	last        *batch // a small empty batch, with its buffer, for the next use; may be nil
	spares      spares
	// keepsBuffers: batches keep their buffers until they are answered: see encoded.
	keepsBuffers bool
}

// listening tracks callers that have not been told to listen to their contexts: see send.Caller.
// All fields are guarded by queue.mu.
type listening struct {
	due    bool          // a call of listen is arranged
	told   uint64        // callers of requests with lower sequence numbers have been told to listen
	called time.Duration // when clock or listen last read the time
}

// rights are the two rights of a connection, each with one holder at a time. They change hands
// under queue.mu; the holder acts without the lock, and passes the right on.
//
// The holder of the right to write takes the open batch and writes it. A sender that finds the
// right free gets it, and writes without blocking. If the socket does not take all bytes at once,
// or more requests have entered by then, the sender passes the right to the writer goroutine, which
// writes the rest. A sender that yields, which means that it first lets other goroutines run, can
// lose the right to a sender whose request fills the batch.
//
// Nobody has the right to write while the open batch is postponed: see postpone.go.
//
// The caller of the oldest unanswered request gets the right to read. It reads in its own
// goroutine, up to its own reply, and passes the right to the caller of the oldest request that is
// left (see [send.Reader]). So each caller decodes its own reply, and at low concurrency only
// callers' goroutines run.
//
//	              ┌── the oldest is a caller's ──► caller ──┐
//	nobody ──► a request comes                       │      │ its reply is read, or its
//	   ▲          └── it is another future's ──► loop │      │ context has ended
//	   │                                          ▲   └──────┤
//	   └──────── nothing is pending ──────────────┴──────────┘
//
// The reader goroutine (loop) has the right to read in a crowd (see [crowded]), and when no caller
// waits for the oldest request: a user's future must not run in a caller's goroutine. In a session
// without mayPass the loop always has the right. When nothing is pending, nobody has the right,
// because waking the loop for each lone request takes time. Then the next writer first checks
// whether the server has closed the socket or sent unsolicited bytes, and the loop takes the right
// when nobody has read for a while. If the socket can't be checked, or if RESP3 allows pushes, the
// loop keeps the right even when nothing is pending.
//
// While nobody has the right to read, nothing is pending and nobody writes. So a request that finds
// the right to read free finds both rights free. If a caller waits for the request, that caller
// checks the socket, writes and then reads, even if another goroutine has sent the request.
// Otherwise the sender checks the socket, and wakes the loop before it writes.
type rights struct {
	session *Session // set while connected

	writing bool
	// A turn is the time in which the holder of the right to write lets other goroutines run.
	// yielding is the number of the current turn, or 0. A sender takes over the right by clearing
	// yielding. turn is the number of the last turn.
	yielding, turn uint64
	yieldedWith    int // requests in the open batch when the turn began
	// released, if not nil, is closed when nobody has the right to write any more. It is set only
	// while a goroutine waits for that.
	released chan struct{}
	// reserved is set while HandOver waits for the right to write. Then the goroutine that has the
	// right takes no further batch.
	reserved bool
	// handing: HandOver has the right to write, or waits for it. Requests that are bound to the session are refused.
	handing bool
	// emptied, if not nil, is closed when no request is in flight any more: see whenAnswered.
	emptied chan struct{}

	reading readHolder
	// read is set when anybody gets the right to read, and cleared by takeRead.
	read bool
}

// readHolder is the kind of goroutine that has the right to read.
type readHolder uint8

const (
	readNobody readHolder = iota
	readLoop
	readCaller
)
