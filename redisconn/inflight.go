package redisconn

import (
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/sock"
	"github.com/joomcode/redispipe/internal/timing"
	"github.com/joomcode/redispipe/redis"
)

// Batches in flight are in the order of the wire: one enters behind the others when it is
// about to be written, and the oldest leaves when its last reply was read. A batch belongs
// to the writer and the reader until both are done with it.

// flyLocked puts a batch in flight.
func (q *queue) flyLocked(b *batch) {
	q.startTimingLocked(b)
	q.judgePostponingLocked(b)
	q.countTakenLocked(b)
	if q.fenced {
		b.enclose()
		q.pending++
		q.own++
	}
	if q.tail == nil {
		q.head = b
	} else {
		q.tail.next = b
	}
	q.tail = b
	q.concurrency = smooth(q.concurrency, q.pending)
	q.load.Store(int64(q.concurrency))
}

// wrote accounts for a batch that was written whole. It returns true if more is
// waiting: then the caller keeps the right to write.
func (q *queue) wrote(b *batch) (more bool) {
	q.mu.Lock()
	b.written = true
	if !b.plain {
		q.spares.putBuffer(b)
	}
	both := b.answered
	more = q.open != nil
	if more && q.postponableLocked() {
		more, q.postponed.since = false, timing.Clock()
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

// oldestBatch returns the oldest batch in flight, as long as s is the session. Without one,
// why says what that means for a reply that has come.
func (q *queue) oldestBatch(s *session) (b *batch, why *errorx.Error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.state == stateClosed: // the lifecycle is about to end the session
		return nil, errClosed()
	case q.session != s || q.head == nil:
		return nil, redis.ErrResponseUnexpected.New("%s", sock.ErrUnsolicited.Error())
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
	return oldest{b.items[0].seq, timing.At(b.Taken), b.blocks}, true
}

// retire takes the answered batch b, the oldest, out of flight and returns the next.
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
	now := timing.Clock()
	q.usual = leastInFlight(q.usual, now-b.Taken)
	q.countAnsweredLocked(b, now)
	b.answered = true
	both := b.written
	q.admitWaitersLocked()
	q.mu.Unlock()
	if both {
		q.recycle(b)
	}
	return next
}

// recycle keeps a batch that nobody holds any more. It is cleared without the lock,
// because that takes microseconds for a long one.
func (q *queue) recycle(b *batch) {
	buf := b.buf
	b.reset()
	b.buf = buf
	q.mu.Lock()
	defer q.mu.Unlock()
	q.spares.put(b)
}
