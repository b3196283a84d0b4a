package engine

import (
	"bytes"
	"cmp"
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/internal/sock"
	"github.com/joomcode/redispipe/internal/timing"
	"github.com/joomcode/redispipe/redis"
)

// nextSeq returns the sequence number for the next request.
func (f *flight) nextSeq() (seq uint64) {
	seq = f.seq
	f.seq++
	return seq
}

// newBatch returns an empty batch, for requests that enter now.
func (q *queue) newBatch() *batch {
	q.opened, q.postponed = timing.Clock(), postponed{}
	if b := q.last; b != nil {
		q.last = nil
		return b
	}
	return q.spares.batch()
}

// fly puts a taken batch in flight, and updates counts and measurements.
func (q *queue) fly(b *batch, now time.Duration) {
	var calls *timing.Callbacks
	if q.session != nil {
		calls = q.session.Calls
	}
	b.Opened = q.opened
	b.Take(now, calls)
	b.Ready = cmp.Or(q.postponed.since, b.Taken)
	b.offset = q.takenBytes
	q.takenBytes += uint64(len(b.buf))
	q.takenSeq = b.items[len(b.items)-1].seq + 1
	q.stats.Writes++
	q.stats.WrittenRequests += uint64(len(b.items))
	q.judgePostponing(b)
	if q.opts.Integrity {
		b.enclose()
		q.pending++
		q.internal++
	}
	if q.head == nil {
		q.head, q.sinceIdle = b, 1
	} else {
		q.tail.next = b
		q.sinceIdle++
	}
	q.tail = b
	b.unread = int(q.takenBytes - q.head.offset)
	q.concurrency = smooth(q.concurrency, q.pending)
	q.load.Store(int64(q.concurrency))
	if q.others != nil {
		q.everywhere = smooth(q.everywhere, int(q.others()))
	}
	q.crowded.Store(crowded(max(q.concurrency, q.everywhere), q.crowded.Load(), q.light()))
}

// smooth returns the next estimate of the concurrency. It rises to the number of pending requests
// at once, but falls by only an eighth per batch. So a burst of replies does not look like
// idleness, and a goroutine that is left alone soon counts as alone.
func smooth(concurrency, pending int) int {
	return max(pending, concurrency-(concurrency+7)/8)
}

// giveBoth gives both rights, which must be free, to the caller that waits for the request of number
// last, or to the sender if no caller takes them. Only one batch is pending: first, which giveBoth puts
// in flight, or the open batch if first is nil. A caller that will read also checks and writes, because
// nobody else may touch the socket once the caller has the right to read.
func (q *queue) giveBoth(first *batch, caller send.Caller, last uint64) (*Session, duty) {
	s := q.session
	q.writing, s.both = true, true
	if first != nil {
		q.fly(first, q.opened) // opened just now
		s.first.Store(first)
	}
	if caller != nil && caller.GiveRead(send.ReadRight{Reader: s.exchanger, Last: last}) {
		q.reading, q.read = readCaller, true
		return nil, 0
	}
	s.both = false
	q.reading = readLoop
	return s, mustWrite | mustCheck | mustWake
}

// judgePostponing decides, when b is taken, whether to postpone the next batches.
func (q *queue) judgePostponing(b *batch) {
	switch p := q.postponed; {
	case p.since == 0:
		q.pause = max(0, q.pause-1)
	case !hasPaid(len(b.items)-p.atAnswer, p.answered):
		q.pause = postponePause(q.crowded.Load())
	}
}

// wrote accounts for a batch that was written whole. It returns true if more requests wait to be
// written. Then the caller keeps the right to write; otherwise wrote releases the right.
func (q *queue) wrote(b *batch) (more bool) {
	q.mu.Lock()
	b.written = true
	if !b.plain && cap(b.buf) > smallMost && !q.keepsBuffers {
		q.spares.putBuffer(b)
	}
	more = q.open != nil && !q.reserved
	if more && q.postponable() {
		more, q.postponed.since = false, timing.Clock()
	}
	if !more {
		q.releaseLocked()
	}
	long := b.answered && !q.recycle(b)
	q.mu.Unlock()
	if long {
		q.recycleLong(b)
	}
	return more
}

// encoded returns a copy of the request of item i of an answered batch. It returns nil if the buffer
// of the batch is used again; then later batches keep theirs until encoded has returned a request.
func (q *queue) encoded(b *batch, i int) []byte {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.keepsBuffers = b.items[i].end > len(b.buf); q.keepsBuffers {
		return nil
	}
	return bytes.Clone(b.bytes(i))
}

// release gives up the right to write.
func (q *queue) release() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.releaseLocked()
}

// releaseLocked is release for a caller that has the lock. A reserved right goes to HandOver.
func (r *rights) releaseLocked() {
	r.writing = false
	if r.released != nil {
		close(r.released)
		r.released, r.writing = nil, r.reserved
	}
}

// answering returns the oldest batch in flight, whose answer has begun to come to session s. If there is
// none, the reply is unsolicited, and why is the error that ends s.
func (q *queue) answering(s *Session) (b *batch, why *errorx.Error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.state == Closed: // the session is about to end
		return nil, sock.Closed(q.opts.Ctx)
	case q.session != s || q.head == nil || s.first.Load() != nil: // the first batch was not written yet, so the reply is unsolicited
		return nil, redis.ErrResponseUnexpected.New("%s", sock.ErrUnsolicited.Error())
	}
	q.answerBegins(q.head)
	return q.head, nil
}

// answerBegins notes that the first byte of the answer to b has come.
func (q *queue) answerBegins(b *batch) {
	if b.Begun() {
		return
	}
	b.NoteFirstByte()
	if q.open != nil {
		q.postponed.atAnswer, q.postponed.answered = len(q.open.items), len(b.items)
	}
}

// retire takes the answered batch b, the oldest, out of flight. If more bytes have arrived, they answer
// the next batch, and retire returns that batch.
func (q *queue) retire(b *batch, more bool) (next *batch) {
	q.mu.Lock()
	more = more && q.head == b // otherwise the bytes are from an earlier socket
	long := q.retireLocked(b)
	if more && q.head != nil {
		next = q.head
		q.answerBegins(next)
	}
	q.mu.Unlock()
	if long {
		q.recycleLong(b)
	}
	return next
}

// passRead passes on the right to read of session s. If mayIdle is set, the right may stay free while
// nothing is pending. retired, if not nil, is an answered batch, which passRead takes out of flight. If
// loop is set, the loop gets the right, and the caller must wake it. If kept is set, s has ended, and
// the caller keeps the right.
func (q *queue) passRead(s *Session, mayIdle bool, retired *batch) (loop, kept bool) {
	q.mu.Lock()
	long := retired != nil && q.retireLocked(retired)
	if kept = q.session != s; !kept {
		s.listens.Store(false)
		if q.reading = readNobody; !mayIdle || q.others != nil && q.crowded.Load() || q.head != nil || q.open != nil || q.writing {
			q.reading = q.nextReader(s)
		}
		q.read = q.read || q.reading == readCaller
		loop = q.reading == readLoop
	}
	q.mu.Unlock()
	if long {
		q.recycleLong(retired)
	}
	return loop, kept
}

// retireLocked takes b out of flight. If it returns true, the caller must recycle b without the lock.
func (q *queue) retireLocked(b *batch) (long bool) {
	if q.head != b { // the session has failed after all of b was answered
		q.answered(b)
		return false
	}
	if q.head = b.next; q.head == nil {
		q.tail = nil
		q.tellEmptied()
	}
	q.pending -= len(b.items)
	q.internal -= b.internal
	q.answered(b)
	b.answered = true
	if q.waiting.Len() > 0 || q.draining != nil {
		q.admitWaiting()
	}
	return b.written && !q.recycle(b)
}

// clearMost is the number of items up to which a batch is cleared under the lock.
// Clearing a longer one takes microseconds, so the lock is released and taken again.
const clearMost = 16

// smallMost is the capacity, in bytes, up to which a buffer stays with its batch until the batch is
// answered. Larger buffers are reused as soon as they are written.
const smallMost = 4 << 10

// answered measures and counts a batch that was answered now.
func (q *queue) answered(b *batch) {
	now := timing.Clock()
	q.minTrip = leastInFlight(q.minTrip, now-b.Taken)
	q.avgLatency += (now - b.Opened - q.avgLatency) / 8
	q.measure(b)
	n := len(b.items) - b.internal
	if n <= 0 {
		return
	}
	q.countAnsweredLocked(b, n)
	d := b.Delay(now)
	spent := [...]time.Duration{d.Queue, d.Wire, d.Reading, d.Callback} // by redis.Stage
	known := spent[:]
	// The last future of a batch is resolved after the batch is retired, so the time of a
	// user's future is added later.
	if last := &b.items[len(b.items)-1]; last.future != nil && last.caller == nil {
		known = spent[:redis.StageCallback]
		q.lastCallback, q.lastRequests, q.lastRetired = d.Callback, n, now
	}
	for stage, took := range known {
		q.stages[stage].Add(took, n)
	}
}

// countAnsweredLocked counts n answered requests of b. b may have one more error than requests:
// that of EXEC.
func (q *queue) countAnsweredLocked(b *batch, n int) {
	unclear := min(b.unclear, n)
	refused := min(b.refused, n-unclear)
	q.stats.Unknown += uint64(unclear)
	q.stats.Refused += uint64(refused)
	q.stats.Values += uint64(n - unclear - refused)
}

// recycle keeps a batch that nobody uses any more, unless it is long. It reports whether it kept it.
func (f *flight) recycle(b *batch) bool {
	if len(b.items) > clearMost {
		return false
	}
	b.reset()
	if f.last == nil && b.buf != nil && cap(b.buf) <= smallMost && cap(b.items) <= clearMost {
		f.last = b
	} else {
		f.spares.put(b)
	}
	return true
}

// reset empties the batch, which keeps its buffer.
func (b *batch) reset() {
	items, buf := b.items, b.buf
	clear(items)
	*b = batch{items: items[:0], buf: buf[:0]}
}

// recycleLong is recycle for a long batch. It clears the batch without the lock.
func (q *queue) recycleLong(b *batch) {
	b.reset()
	q.mu.Lock()
	defer q.mu.Unlock()
	q.spares.put(b)
}

// takeOpen takes out the open batch, if there is one.
func (q *queue) takeOpen() (b *batch) {
	if b, q.open = q.open, nil; b != nil {
		q.bytes -= len(b.buf)
		q.lingering = 0
	}
	return b
}

// whenAnswered returns a channel that is closed when no request is in flight, or when writes are stopped. It
// returns nil if no request is in flight now.
func (q *queue) whenAnswered() <-chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.head == nil {
		return nil
	}
	if q.emptied == nil {
		q.emptied = make(chan struct{})
	}
	return q.emptied
}

// tellEmptied closes the channel that whenAnswered has returned. Call it with the lock.
func (q *queue) tellEmptied() {
	if q.emptied != nil {
		close(q.emptied)
		q.emptied = nil
	}
}
