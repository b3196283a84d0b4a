package redisconn

import "time"

// While a caller reads the answer to a batch in flight, the open batch is postponed if
// that is worth it (see [worthPostponing]): nobody has the right to write. It is written
//
//   - by the sender whose request gives it enough (see [enough]);
//   - when nothing is in flight any more: by the next caller that is to read, which gets
//     both rights;
//   - by the loop, when that gets the right to read: the future that it is about to
//     resolve may wait for what a postponed request does.
//
// If few of those whom the answer woke have sent anything by then, it has not paid, and the
// next batches are not postponed: the callers have something else to do in between.

// postponing is what a queue knows of it.
type postponing struct {
	postponed postponedBatch
	// pause is how many batches are not postponed, since postponing has not paid.
	pause int
}

// postponedBatch is what is known of the open batch.
type postponedBatch struct {
	since time.Duration // nobody writes it, or did not; else 0
	// atAnswer is how many requests it had when the answer to a batch of so many began.
	atAnswer, answered int
}

// noteAnswer notes that the answer to b has begun to come.
func (q *queue) noteAnswer(b *batch) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.open != nil {
		q.postponed.atAnswer, q.postponed.answered = len(q.open.items), len(b.items)
	}
}

// judgePostponingLocked decides whether to postpone the next batches: b is taken.
func (q *queue) judgePostponingLocked(b *batch) {
	switch p := q.postponed; {
	case p.since == 0:
		q.pause = max(0, q.pause-1)
	case !hasPaid(len(b.items)-p.atAnswer, p.answered):
		q.pause = postponePause
	}
}

// gathersLocked reports whether postponing gathers the requests of callers, however few.
func (q *queue) gathersLocked() bool {
	return q.reading == readCaller && q.postpones && q.pause == 0 && q.usual <= postponeMost
}

// postponableLocked reports whether nobody is to write the open batch yet.
func (q *queue) postponableLocked() bool {
	return q.gathersLocked() && q.head != nil &&
		worthPostponing(q.concurrency, max(q.usual, q.opened-q.head.Taken)) &&
		!q.enoughLocked(q.concurrency) && 2*q.bytes < q.maxBytes
}

// enoughLocked reports whether the open batch does not wait for more requests.
func (q *queue) enoughLocked(concurrency int) bool {
	b := q.open
	return b != nil && enough(len(b.items), len(b.buf), concurrency, q.several)
}

// takePostponed takes the right to write a batch that was postponed. It returns false
// if there is none.
func (q *queue) takePostponed(s *session) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.session != s || q.open == nil || q.writing {
		return false
	}
	q.writing = true
	return true
}
