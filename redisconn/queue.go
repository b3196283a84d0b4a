package redisconn

import (
	"container/list"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/timing"
	"github.com/joomcode/redispipe/internal/wire"
	"github.com/joomcode/redispipe/redis"
)

// queue is where requests enter. It holds the open batch, the batches in
// flight in the order of the wire, and the state of the connection.
type queue struct {
	ctx         context.Context // the connection's
	maxRequests int
	maxBytes    int
	fenced      bool // Opts.Integrity
	postpones   bool // unless Opts.WritePause says not to wait

	mu sync.Mutex // guards all that follows

	state   state
	session *session      // set while connected
	why     *errorx.Error // what ended the connection, while disconnected

	open *batch // nil when empty
	// asking: a batch that was taken is not in flight yet, since its futures are asked
	// whether they are cancelled. Until it is, nobody but the loop may get the right to
	// read: requests behind it come after its users' futures.
	asking bool
	seq    uint64 // sequence number of the next request
	rights

	head, tail *batch // in flight

	several bool // see SharesCallers

	spares spares

	pending     int // requests accepted and not answered
	own         int // those of pending that the library has sent for itself
	bytes       int // bytes accepted and not taken
	concurrency int // see policy
	// load is concurrency, to be read without the lock.
	load atomic.Int64

	// opened is when the open batch was opened, or the last one, if there is none.
	opened time.Duration
	postponing
	// takenSeq and takenBytes are how many requests and bytes were taken so far.
	takenSeq, takenBytes uint64
	counters

	// usual is the least time that a batch was in flight, lately.
	usual time.Duration
	// draining is set by Shutdown, and closed when nothing of the users' is pending.
	draining chan struct{}
	drained  bool
	// withheld is set by StopWrites, under the lock, and never cleared.
	withheld atomic.Bool

	waiters list.List // of capacityWaiter: callers that wait for room, oldest first
}

// admitLocked returns nil if requests may enter, and otherwise the error that they get.
// A batch larger than the bounds may enter an empty queue.
func (q *queue) admitLocked(reqs []*wire.Request, cb Future) *errorx.Error {
	switch {
	case q.state == stateClosed || q.draining != nil || q.ctx.Err() != nil || q.withheld.Load() && !isOwn(cb):
		return errClosed()
	case q.state == stateDisconnected:
		return ErrNotConnected.Wrap(q.why, "not connected")
	case q.pending > 0 && !q.fitsLocked(len(reqs)):
		return redis.ErrQueueFull.New("queue is full: %d requests, %d bytes not written", q.pending, q.bytes)
	case len(reqs) == 1 && !q.inTimeLocked(reqs[0].Deadline):
		q.admitWaitersLocked() // this one may have been let in
		return redis.ErrOverloaded.Wrap(context.DeadlineExceeded, "the deadline can't be met: %d requests are ahead of this one", q.pending).
			WithProperty(redis.EKDelay, q.overloadedLocked())
	}
	return nil
}

func (q *queue) fitsLocked(requests int) bool {
	if q.open != nil {
		requests += q.open.withdrawn // they are there until the batch is taken
	}
	return q.pending+requests <= q.maxRequests && q.bytes < q.maxBytes
}

// inTimeLocked reports whether a request that enters now is likely to be answered
// before its deadline.
func (q *queue) inTimeLocked(deadline time.Time) bool {
	if deadline.IsZero() || q.head == nil {
		return true
	}
	return inTime(timing.Clock()-q.head.Taken, q.usual, time.Until(deadline))
}

// openLocked returns the batch that takes requests.
func (q *queue) openLocked() *batch {
	if q.open == nil {
		q.open = q.spares.batch()
		q.opened, q.postponed = timing.Clock(), postponedBatch{}
	}
	return q.open
}

// nextSeqLocked numbers a request.
func (q *queue) nextSeqLocked() (seq uint64) {
	seq = q.seq
	q.seq++
	return seq
}

// enteredLocked accounts for what was added to the open batch since m, and returns
// what its sender has to do on which session.
func (q *queue) enteredLocked(m mark) (*session, duty) {
	q.pending += len(q.open.items) - m.items
	q.own += q.open.own - m.own
	q.bytes += len(q.open.buf) - m.bytes
	return q.dutyLocked()
}

// take puts the open batch in flight. The caller must have the right to write, which it
// loses if there is nothing to take: b is nil then. It has to resolve the cancelled
// items after it has written.
func (q *queue) take() (b *batch, cancelled []item) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if b, q.open = q.open, nil; b == nil {
		q.releaseLocked()
		return nil, nil
	}
	q.bytes -= len(b.buf)
	if b.customFutures {
		cancelled = q.askLocked(b)
		q.pending -= len(cancelled)
		q.notSent += uint64(len(cancelled))
	}
	if b.withdrawn > 0 {
		b.compact()
	}
	q.admitWaitersLocked()
	if len(b.items) > 0 {
		q.flyLocked(b)
		return b, cancelled
	}
	q.spares.putBuffer(b)
	b.reset()
	q.spares.put(b)
	q.passLocked(nil)
	return nil, cancelled
}

// askLocked asks the futures of b, without the lock, whether they are cancelled, and
// marks those that are as withdrawn. If one ends the goroutine, none counts as cancelled,
// and the writer gets b and the right to write.
func (q *queue) askLocked(b *batch) (cancelled []item) {
	asked := false
	q.asking = true
	q.mu.Unlock()
	defer func() {
		q.mu.Lock()
		q.asking = false
		if !asked {
			b.compact()
			q.flyLocked(b)
			q.passLocked(b)
		}
	}()
	cancelled = b.cancelled()
	asked = true
	return cancelled
}

// trim drops what is kept for reuse if the connection is idle, and reports whether it
// is.
func (q *queue) trim() (idle bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.spares.trim(q.seq)
}

// abort waits until nobody writes, and returns everything that is left: the batches in
// flight and the open one. The state must be one in which nothing is accepted.
func (q *queue) abort() (inflight, open *batch) {
	q.mu.Lock()
	q.awaitReleaseLocked()
	inflight, open = q.head, q.open
	q.head, q.tail, q.open = nil, nil, nil
	q.pending, q.own, q.bytes, q.concurrency = 0, 0, 0, 0
	q.admitWaitersLocked()
	q.mu.Unlock()
	return inflight, open
}

// Withdraw implements wire.Withdrawer.
func (q *queue) Withdraw(seq uint64) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	b := q.open
	if b == nil || !b.withdraw(seq) {
		return false
	}
	q.pending--
	q.notSent++
	if b.worthCompacting() { // else nothing would bound what piles up
		q.bytes -= len(b.buf)
		b.compact()
		q.bytes += len(b.buf)
	}
	if len(b.items) == 0 {
		q.open = nil
		q.spares.putBuffer(b)
		b.reset()
		q.spares.put(b)
	}
	q.admitWaitersLocked()
	return true
}

var (
	_ wire.Withdrawer     = (*queue)(nil)
	_ wire.CapacityWaiter = capacity{}
)
