package engine

import "github.com/joomcode/redispipe/internal/send"

var _ send.Withdrawer = (*Queue)(nil)

// Withdraw implements send.Withdrawer.
func (q *Queue) Withdraw(seq uint64) bool {
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
		q.bytes -= len(b.Buf)
		b.compact()
		q.bytes += len(b.Buf)
		q.lingering = 0
	}
	if len(b.Items) == 0 {
		q.open = nil
		q.recycle(b)
	}
	q.letIn()
	return true
}

// Withhold admits no more users' requests, and takes out those that nobody has begun to
// write, oldest first. writes is the session that somebody has the right to write to, if
// any.
func (q *Queue) Withhold() (left *Batch, writes *Session) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.withheld.Store(true)
	if q.writing {
		writes = q.session
	}
	left = q.takeOpen()
	if first := q.takeBackFirst(); first != nil {
		first.Next, left = left, first
	}
	for b := left; b != nil; b = b.Next {
		q.pending -= len(b.Items) - b.withdrawn
		q.gate.own -= b.own
	}
	q.letIn()
	return left, writes
}

// withdrawFirst withdraws a request that is in flight, alone, but not written yet.
func (q *Queue) withdrawFirst(seq uint64) bool {
	if q.session == nil || q.head == nil || len(q.head.Items) != 1 || q.head.Items[0].Seq != seq {
		return false
	}
	b := q.takeBackFirst()
	if b == nil {
		return false
	}
	q.pending--
	q.stats.NotSent++
	q.recycle(b)
	q.letIn()
	return true
}

// takeBackFirst takes the first batch out of flight again, unless its writer has begun.
func (q *Queue) takeBackFirst() *Batch {
	if q.session == nil {
		return nil
	}
	b := q.session.TakeFirst()
	if b != nil { // as if it had not been taken
		q.head, q.tail = nil, nil
		q.takenSeq -= uint64(len(b.Items))
		q.takenBytes -= uint64(len(b.Buf))
		q.stats.Writes--
		q.stats.WrittenRequests -= uint64(len(b.Items))
		b.Taken = 0
	}
	return b
}
