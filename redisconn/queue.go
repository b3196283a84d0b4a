package redisconn

import (
	"container/list"
	"context"
	"sync"
	"time"

	"github.com/joomcode/errorx"

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
	holds       bool // small batches may be held back: see holds

	mu sync.Mutex // guards all that follows

	state   state
	session *session      // set while connected
	why     *errorx.Error // what ended the connection, while disconnected

	open *batch // nil when empty
	seq  uint64 // sequence number of the next request
	// writing is the right to take batches and write them: whoever sets it has
	// it, and passes it on or clears it.
	writing bool
	// yielding is set while who has the right to write lets others run; it may
	// be taken over then, by clearing yielding.
	yielding, turn uint64
	// reading is the right to read: see lead.go.
	reading  bool
	leadable bool // the last request's caller could have read its own reply
	led      bool // a caller has had the right to read: see takeRead
	// watching is set while the writer is to look after batches that are held back,
	// and watched is the number of the first request that was so.
	watching bool
	watched  uint64
	// released is closed when writing is cleared, if anybody asked.
	released chan struct{}

	head, tail *batch // in flight

	spare   []*batch // empty, for reuse
	buffers [][]byte // the same
	trimmed uint64   // seq at the last trim

	pending     int // requests accepted and not answered
	own         int // those of pending that the library has sent for itself
	bytes       int // bytes accepted and not taken
	concurrency int // see policy

	// usual is the least time that a batch was in flight, lately.
	usual time.Duration
	// draining is set by Shutdown, and closed when nothing of the users' is pending.
	draining chan struct{}
	drained  bool

	room list.List // of place: callers that wait for room, oldest first
}

// admitLocked decides whether a number of requests may enter; it returns what is to
// be said if not. A batch larger than the bounds may enter an empty queue.
func (q *queue) admitLocked(requests int) *errorx.Error {
	switch {
	case q.state == stateClosed || q.draining != nil || q.ctx.Err() != nil:
		return errClosed()
	case q.state == stateDisconnected:
		return ErrNotConnected.Wrap(q.why, "not connected")
	}
	if q.pending > 0 && !q.fitsLocked(requests) {
		return redis.ErrQueueFull.New("queue is full: %d requests, %d bytes not written", q.pending, q.bytes)
	}
	return nil
}

func (q *queue) fitsLocked(requests int) bool {
	if q.open != nil {
		requests += q.open.withdrawn // they are there until the batch is taken
	}
	return q.pending+requests <= q.maxRequests && q.bytes < q.maxBytes
}

// inTimeLocked tells whether a request that enters now can be expected to be
// answered before its deadline.
func (q *queue) inTimeLocked(deadline time.Time) bool {
	if deadline.IsZero() || q.head == nil {
		return true
	}
	now := time.Now()
	return inTime(now.Sub(q.head.taken), q.usual, deadline.Sub(now))
}

// openLocked returns the batch that takes requests.
func (q *queue) openLocked() *batch {
	if q.open == nil {
		q.open = q.newBatchLocked()
	}
	return q.open
}

// addedLocked accounts for what was added to the open batch since m. If the
// caller is to see to writing, it returns the session.
func (q *queue) addedLocked(m mark) *session {
	for i := m.items; i < len(q.open.items); i++ {
		q.open.items[i].seq = q.seq
		q.seq++
	}
	q.pending += len(q.open.items) - m.items
	q.own += q.open.own - m.own
	q.bytes += len(q.open.buf) - m.bytes
	switch {
	case q.session == nil:
		return nil
	case q.yielding != 0 && q.open.enough(q.concurrency):
		q.yielding = 0 // the right to write is taken over
		return q.session
	case q.writing:
		return nil
	case q.holdsLocked():
		q.watchLocked()
		return nil
	}
	q.writing = true
	if !q.reading { // the reader rests
		q.reading, q.session.rouses = true, true
	}
	return q.session
}

// holdsLocked tells whether the open batch is held back: until it has grown, or a
// batch in flight is answered. As a future may keep the reader from that, the
// caller has to see to watchLocked.
func (q *queue) holdsLocked() bool {
	return q.holds && q.head != nil && q.session != nil && q.session.ceding.local &&
		holds(len(q.open.items), len(q.open.buf), q.concurrency, q.usual)
}

// watchLocked sees to it that the batch that is held back is written some time.
func (q *queue) watchLocked() {
	if !q.watching {
		q.watching, q.watched = true, q.open.items[0].seq
		q.session.overdue.Reset(heldMost)
	}
}

// overdue is called by the writer of s, heldMost after watchLocked. It gives the
// writer the right to write if a batch has been held back since then.
func (q *queue) overdue(s *session) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.session != s {
		return false
	}
	q.watching = false
	if q.open == nil || q.writing {
		return false
	}
	if q.open.items[0].seq != q.watched { // another one, which has its time
		q.watchLocked()
		return false
	}
	q.writing = true
	return true
}

// take puts the open batch in flight. The caller has the right to write; it
// loses it when there is nothing to take, and nil is returned. cancelled are
// items that the caller has to resolve, once it has written.
func (q *queue) take() (b *batch, cancelled []item) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if b, q.open = q.open, nil; b == nil {
		q.releaseLocked()
		return nil, nil
	}
	q.bytes -= len(b.buf)
	if b.withdrawn > 0 || b.foreign {
		cancelled = q.dropLocked(b)
		q.pending -= len(cancelled)
	}
	q.wakeLocked()
	if len(b.items) > 0 {
		q.flyLocked(b)
		return b, cancelled
	}
	q.freeLocked(b)
	b.reset()
	q.recycledLocked(b)
	q.passLocked(nil)
	return nil, cancelled
}

// dropLocked takes out of b what is withdrawn or cancelled. Futures are asked
// without the lock. If one ends the goroutine, none counts as cancelled, and the
// writer gets b and the right to write.
func (q *queue) dropLocked(b *batch) (cancelled []item) {
	asked := false
	q.mu.Unlock()
	defer func() {
		q.mu.Lock()
		if !asked {
			b.cut()
			q.flyLocked(b)
			q.passLocked(b)
		}
	}()
	cancelled = b.drop()
	asked = true
	return cancelled
}

// passLocked passes the right to write to the writer, with a batch in flight if not
// nil, or gives it up if there is nothing to write, or nobody.
func (q *queue) passLocked(rest *batch) {
	if q.session == nil || rest == nil && q.open == nil {
		q.releaseLocked()
		return
	}
	q.session.rest = rest
	q.session.wake <- struct{}{} // has room: there is one right
}

// flyLocked puts a batch in flight.
func (q *queue) flyLocked(b *batch) {
	if q.fenced {
		b.enclose()
		q.pending++
		q.own++
	}
	b.taken = time.Now()
	if q.tail == nil {
		q.head = b
	} else {
		q.tail.next = b
	}
	q.tail = b
	q.concurrency = smooth(q.concurrency, q.pending)
}

// releaseLocked gives up the right to write.
func (q *queue) releaseLocked() {
	q.writing = false
	if q.released != nil {
		close(q.released)
		q.released = nil
	}
}

// release gives up the right to write.
func (q *queue) release() {
	q.mu.Lock()
	q.releaseLocked()
	q.mu.Unlock()
}

// wrote tells that a batch was written in whole. If more is waiting the caller
// keeps the right to write, and true is returned.
func (q *queue) wrote(b *batch) (more bool) {
	q.mu.Lock()
	b.written = true
	if !b.plain {
		q.freeLocked(b)
	}
	both := b.answered
	held := q.open != nil && q.holdsLocked()
	more = q.open != nil && !held
	if held {
		q.watchLocked()
	}
	if !more {
		q.releaseLocked()
	}
	q.mu.Unlock()
	if both {
		q.recycle(b)
	}
	return more
}

// first returns the oldest batch in flight, as long as s is the session. Without one,
// why says what that means for a reply that has come.
func (q *queue) first(s *session) (b *batch, why *errorx.Error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.state == stateClosed: // the lifecycle is about to end the session
		return nil, errClosed()
	case q.session != s || q.head == nil:
		return nil, redis.ErrResponseUnexpected.New("%s", errStray.Error())
	}
	return q.head, nil
}

// oldest is what the lifecycle wants to know of the oldest batch in flight.
type oldest struct {
	seq    uint64 // of its first request
	taken  time.Time
	blocks time.Duration
}

// oldest describes the oldest batch in flight, if there is one.
func (q *queue) oldest() (o oldest, waits bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	b := q.head
	if b == nil {
		return oldest{}, false
	}
	return oldest{b.items[0].seq, b.taken, b.blocks}, true
}

// yields tells whether to let other goroutines run before the batch is taken.
// If so, call yielded after that.
func (q *queue) yields() uint64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := max(q.concurrency, q.pending)
	q.yielding = 0
	if yields(n) && !(q.open != nil && q.open.enough(n)) {
		q.turn++
		q.yielding = q.turn
	}
	return q.yielding
}

// yielded tells whether the caller still has the right to write.
func (q *queue) yielded(turn uint64) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.yielding != turn {
		return false
	}
	q.yielding = 0
	return true
}

// retire takes the answered batch b, the oldest, out of flight and returns the
// next. If a batch was held back meanwhile, it is passed to the writer.
func (q *queue) retire(b *batch) *batch {
	q.mu.Lock()
	if q.head != b { // the session has failed and b was taken over
		q.mu.Unlock()
		return nil
	}
	next := b.next
	q.head = next
	if next == nil {
		q.tail = nil
	}
	q.pending -= len(b.items)
	q.own -= b.own
	q.usual = usual(q.usual, time.Since(b.taken))
	b.answered = true
	both := b.written
	q.wakeLocked()
	s := q.session
	held := q.open != nil && !q.writing && s != nil
	q.writing = q.writing || held
	q.mu.Unlock()
	if held {
		s.wake <- struct{}{}
	}
	if both {
		q.recycle(b)
	}
	return next
}

// abort waits until nobody writes, and returns all that is left: the batches
// in flight, and the open one. The state must be one that accepts nothing.
func (q *queue) abort() (inflight, open *batch) {
	q.mu.Lock()
	for q.writing {
		if q.released == nil {
			q.released = make(chan struct{})
		}
		released := q.released
		q.mu.Unlock()
		<-released
		q.mu.Lock()
	}
	inflight, open = q.head, q.open
	q.head, q.tail, q.open = nil, nil, nil
	q.pending, q.own, q.bytes, q.concurrency = 0, 0, 0, 0
	q.wakeLocked()
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
	if b.loose() { // else nothing would bound what piles up
		q.bytes -= len(b.buf)
		b.cut()
		q.bytes += len(b.buf)
	}
	if len(b.items) == 0 {
		q.open = nil
		q.freeLocked(b)
		b.reset()
		q.recycledLocked(b)
	}
	q.wakeLocked()
	return true
}

var (
	_ wire.Withdrawer = (*queue)(nil)
	_ wire.Roomer     = room{}
)
