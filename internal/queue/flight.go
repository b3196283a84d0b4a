package queue

import (
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/peer"
	"github.com/joomcode/redispipe/internal/timing"
	"github.com/joomcode/redispipe/redis"
)

// flight is the batches, in the order of the wire: those in flight, and the open one, which
// is behind them. A batch is in flight from when it is about to be written until its last
// reply was read and, if a caller reads, perhaps until that passes the right to read on. All
// of it is guarded by Queue.mu.
type flight struct {
	open *Batch // nil when empty
	// asking: a batch was taken and is not in flight yet, since its futures are being
	// asked whether they are cancelled. Until then only the loop may get the right to
	// read, because requests after it must not overtake those futures.
	asking     bool
	head, tail *Batch
	seq        uint64 // sequence number of the next request
	spares     spares
}

// push puts a batch in flight, behind the others.
func (f *flight) push(b *Batch) {
	if f.tail == nil {
		f.head = b
	} else {
		f.tail.Next = b
	}
	f.tail = b
}

// pop takes the oldest batch out of flight.
func (f *flight) pop() {
	if f.head = f.head.Next; f.head == nil {
		f.tail = nil
	}
}

// clearMost is the number of items up to which a batch is cleared under the lock.
// Clearing a longer one takes microseconds, so the lock is released and taken again.
const clearMost = 16

// recycle keeps a batch that nobody holds any more, unless it is long. It reports whether
// it has.
func (f *flight) recycle(b *Batch) bool {
	if len(b.Items) > clearMost {
		return false
	}
	b.reset()
	f.spares.put(b)
	return true
}

// Take puts the open batch in flight. The caller must have the right to write. If there
// is nothing to take, b is nil, and the caller loses the right. If it asks futures whether they are
// cancelled, which may end its goroutine, it has to resolve the cancelled items after it has written.
func (q *Queue) Take(asks bool) (b *Batch, cancelled []Cancelled) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if b = q.takeOpen(); b == nil {
		q.release()
		return nil, nil
	}
	if asks && b.customFutures {
		cancelled = q.ask(b)
		q.pending -= len(cancelled)
		q.stats.NotSent += uint64(len(cancelled))
	}
	if b.withdrawn > 0 {
		b.compact()
	}
	q.letIn()
	if len(b.Items) > 0 {
		q.fly(b)
		return b, cancelled
	}
	q.recycle(b)
	q.pass(nil, q.open != nil)
	return nil, cancelled
}

// takeOpen takes out the open batch, if there is one.
func (q *Queue) takeOpen() (b *Batch) {
	if b, q.open = q.open, nil; b != nil {
		q.bytes -= len(b.Buf)
		q.lingering = 0
	}
	return b
}

// ask asks the futures of b, without the lock, whether they are cancelled, and marks those
// that are as withdrawn. If one ends the goroutine, none counts as cancelled, and the writer
// goroutine gets b and the right to write.
func (q *Queue) ask(b *Batch) (cancelled []Cancelled) {
	asked := false
	q.asking = true
	q.mu.Unlock()
	defer func() {
		q.mu.Lock()
		q.asking = false
		if !asked {
			b.compact()
			q.fly(b)
			q.pass(b, true)
		}
	}()
	cancelled = b.cancelled()
	asked = true
	return cancelled
}

// fly puts a batch that was taken in flight.
func (q *Queue) fly(b *Batch) {
	var calls *timing.Callbacks
	if q.session != nil {
		calls = q.session.Calls
	}
	q.take(b, calls)
	q.judgePostponing(b)
	if q.fenced {
		b.enclose()
		q.pending++
		q.gate.own++
	}
	if q.head == nil {
		q.row = 0
	}
	q.row++
	q.push(b)
	b.Unread = int(q.takenBytes - q.head.offset)
	q.concurrency = smooth(q.concurrency, q.pending)
	q.load.Store(int64(q.concurrency))
}

// flyFirst puts the open batch in flight for a caller that has yet to begin to write it.
func (q *Queue) flyFirst() {
	b := q.takeOpen()
	q.fly(b)
	q.session.first.Store(b)
}

// smooth follows the number of pending requests upwards at once and downwards
// by an eighth per batch, so that a burst of replies does not look like
// idleness, and a lone goroutine is soon treated as one.
func smooth(concurrency, pending int) int {
	return max(pending, concurrency-(concurrency+7)/8)
}

// judgePostponing decides, when b is taken, whether to postpone the next batches.
func (q *Queue) judgePostponing(b *Batch) {
	switch p := q.postponed; {
	case p.since == 0:
		q.pause = max(0, q.pause-1)
	case !hasPaid(len(b.Items)-p.atAnswer, p.answered):
		q.pause = postponePause(q.concurrency)
	}
}

// Wrote accounts for a batch that was written whole. It returns true if more is waiting:
// then the caller keeps the right to write.
func (q *Queue) Wrote(b *Batch) (more bool) {
	q.mu.Lock()
	b.written = true
	if !b.plain {
		q.spares.putBuffer(b)
	}
	more = q.open != nil
	if more && q.postponable() {
		more, q.postponed.since = false, timing.Clock()
	}
	if !more {
		q.release()
	}
	long := b.answered && !q.recycle(b)
	q.mu.Unlock()
	if long {
		q.recycleLong(b)
	}
	return more
}

// recycleLong is recycle of a long batch, which is cleared without the lock.
func (q *Queue) recycleLong(b *Batch) {
	b.reset()
	q.mu.Lock()
	defer q.mu.Unlock()
	q.spares.put(b)
}

// Answering returns the oldest batch in flight, whose answer has begun to come, as long as
// s is the session. If there is none, why is the error with which the reply ends the session.
func (q *Queue) Answering(s *Session) (b *Batch, why *errorx.Error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.state == Closed: // the session is about to end
		return nil, peer.Closed(q.ctx)
	case q.session != s || q.head == nil || s.first.Load() != nil: // the first batch is not written
		return nil, redis.ErrResponseUnexpected.New("%s", peer.ErrUnsolicited.Error())
	}
	q.answerBegins(q.head, timing.Clock())
	return q.head, nil
}

// answerBegins notes that the first byte of the answer to b has come.
func (q *Queue) answerBegins(b *Batch, now time.Duration) {
	if b.Begun() {
		return
	}
	b.NoteFirstByte(now)
	if q.open != nil {
		q.postponed.atAnswer, q.postponed.answered = len(q.open.Items), len(b.Items)
	}
}

// Retire takes the answered batch b, the oldest, out of flight. If more has come it returns
// the next batch, whose answer that is.
func (q *Queue) Retire(b *Batch, more bool) (next *Batch) {
	q.mu.Lock()
	now := timing.Clock()
	more = more && q.head == b // otherwise more came from another socket than that of the batches in flight
	long := q.retire(b, now)
	if more && q.head != nil {
		next = q.head
		q.answerBegins(next, now)
	}
	q.mu.Unlock()
	if long {
		q.recycleLong(b)
	}
	return next
}

// retire takes b out of flight. If it returns true, b is to be recycled without the lock.
func (q *Queue) retire(b *Batch, now time.Duration) (long bool) {
	if q.head != b { // the session has failed, and nothing of b was left
		q.answered(b, now)
		return false
	}
	q.pop()
	q.pending -= len(b.Items)
	q.gate.own -= b.own
	q.answered(b, now)
	b.answered = true
	q.letIn()
	return b.written && !q.recycle(b)
}

// sparesMost is how many bytes of batches and buffers a connection keeps for reuse.
const sparesMost = 6 << 20

// spares are the empty batches and buffers that a connection keeps for reuse. A sync.Pool
// would lose them at each collection.
type spares struct {
	batches []*Batch
	buffers [][]byte
	bytes   int    // of all of them
	trimmed uint64 // the queue's sequence number at the last trim
}

// batch returns an empty batch, with a spare buffer if there is one.
func (s *spares) batch() *Batch {
	var b *Batch
	if n := len(s.batches); n > 0 {
		b, s.batches = s.batches[n-1], s.batches[:n-1]
		s.bytes -= sizeOf(b)
	} else {
		b = &Batch{}
	}
	if n := len(s.buffers); n > 0 {
		b.Buf, s.buffers = s.buffers[n-1], s.buffers[:n-1]
		s.bytes -= cap(b.Buf)
	}
	return b
}

// put keeps an empty batch that nobody holds any more, if there is room.
func (s *spares) put(b *Batch) {
	s.putBuffer(b)
	if s.hasRoom(sizeOf(b)) {
		s.batches = append(s.batches, b)
	}
}

// putBuffer keeps the buffer of a batch that does not need it any more, if there is room.
func (s *spares) putBuffer(b *Batch) {
	if b.Buf != nil && s.hasRoom(cap(b.Buf)) {
		s.buffers = append(s.buffers, b.Buf[:0])
	}
	b.Buf = nil
}

// hasRoom reserves room for so many bytes, and reports whether there was enough.
func (s *spares) hasRoom(size int) bool {
	if s.bytes+size > sparesMost {
		return false
	}
	s.bytes += size
	return true
}

// sizeOf estimates the size of a batch without its buffer, in bytes.
func sizeOf(b *Batch) int { return 256 + 96*cap(b.Items) }

// trim drops everything if at most a heartbeat was sent since the last trim, and
// reports whether that is so. seq is the queue's sequence number.
func (s *spares) trim(seq uint64) (idle bool) {
	if idle = seq-s.trimmed <= 1; idle {
		s.batches, s.buffers, s.bytes = nil, nil, 0
	}
	s.trimmed = seq
	return idle
}

// reset empties the batch, which keeps its buffer.
func (b *Batch) reset() {
	items, buf := b.Items, b.Buf
	clear(items)
	*b = Batch{Items: items[:0], Buf: buf}
}
