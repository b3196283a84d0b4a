package queue

import (
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/peer"
	"github.com/joomcode/redispipe/internal/timing"
	"github.com/joomcode/redispipe/redis"
)

// Answering returns the oldest batch in flight, whose answer has begun to come, as long as
// s is the session. If there is none, why is the error with which the reply ends the session.
func (q *Queue) Answering(s *Session) (b *Batch, why *errorx.Error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.state == Closed: // the session is about to be ended
		return nil, peer.Closed(q.ctx)
	case q.session != s || q.head == nil || s.first.Load() != nil: // what is first is not written
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
	more = more && q.head == b // else it is not from the socket of what is in flight now
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
	if q.head != b { // the session has failed and b was taken over
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

// CountLastCallback counts the callbacks of the batch that was retired last, when its
// last future was resolved.
func (q *Queue) CountLastCallback() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.stages[redis.StageCallback].Add(q.lastCallback+timing.Clock()-q.lastRetired, q.lastRequests)
	q.lastRequests = 0
}

// CountLeft counts requests that were not answered.
func (q *Queue) CountLeft(notSent, unknown uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.notSent += notSent
	q.unknown += unknown
}
