package engine

import "github.com/joomcode/redispipe/internal/send"

var _ send.Withdrawer = (*queue)(nil)

// Withdraw implements send.Withdrawer.
func (q *queue) Withdraw(seq uint64) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	b := q.open
	if b == nil || !b.withdraw(seq) {
		return q.withdrawFirst(seq)
	}
	q.pending--
	q.lingering++
	q.stats.NotSent++
	if b.worthCompacting() { // otherwise withdrawn bytes would pile up without a bound
		q.bytes -= len(b.buf)
		b.compact()
		q.bytes += len(b.buf)
		q.lingering = 0
	}
	if len(b.items) == 0 {
		q.open = nil
		q.recycle(b)
	}
	q.admitWaiting()
	return true
}

// withhold admits no more users' requests, and takes out those that nobody has begun to write,
// oldest first. writes is the session that somebody may write to, or nil.
func (q *queue) withhold() (left *batch, writes *Session) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.withheld.Store(true)
	q.tellEmptied()
	if q.writing {
		writes = q.session
	}
	left = q.takeOpen()
	if first := q.takeBackFirst(); first != nil {
		first.next, left = left, first
	}
	for b := left; b != nil; b = b.next {
		q.pending -= len(b.items) - b.withdrawn
		q.internal -= b.internal
	}
	q.admitWaiting()
	return left, writes
}

// withdrawFirst withdraws a request that is alone in flight but not written yet.
func (q *queue) withdrawFirst(seq uint64) bool {
	if q.session == nil || q.head == nil || len(q.head.items) != 1 || q.head.items[0].seq != seq {
		return false
	}
	b := q.takeBackFirst()
	if b == nil {
		return false
	}
	q.pending--
	q.stats.NotSent++
	q.recycle(b)
	q.admitWaiting()
	return true
}

// takeBackFirst takes the first batch out of flight again, unless its writer has begun.
func (q *queue) takeBackFirst() *batch {
	if q.session == nil {
		return nil
	}
	b := q.session.takeFirst()
	if b != nil { // undo fly, as if the batch had not been taken
		q.head, q.tail = nil, nil
		q.takenSeq -= uint64(len(b.items))
		q.takenBytes -= uint64(len(b.buf))
		q.stats.Writes--
		q.stats.WrittenRequests -= uint64(len(b.items))
		b.Taken = 0
	}
	return b
}

// abort waits until nobody writes, and returns the batches in flight and the open batch. The
// state must be one that accepts no requests.
func (q *queue) abort() (inflight, open *batch) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.awaitReleaseLocked()
	inflight, open = q.head, q.open
	q.head, q.tail, q.open = nil, nil, nil
	q.pending, q.internal, q.bytes, q.lingering, q.concurrency = 0, 0, 0, 0, 0
	q.admitWaiting()
	return inflight, open
}
