package queue

// While a caller reads the answer to a batch in flight, the open batch is postponed if
// that is worth it (see [worthPostponing]): nobody has the right to write. It is written
//
//   - by the sender whose request gives it enough (see [enough]);
//   - when nothing is in flight any more: by the next caller that is to read, which gets
//     both rights;
//   - by the loop, when it gets the right to read: the future that it is about to resolve
//     may wait for the effect of a postponed request.
//
// If few of the callers that the answer woke have sent anything by then, postponing has not
// paid, and the next batches are not postponed: the callers do something else in between.

// judgePostponing decides, when b is taken, whether to postpone the next batches.
func (q *Queue) judgePostponing(b *Batch) {
	switch p := q.postponed; {
	case p.since == 0:
		q.pause = max(0, q.pause-1)
	case !hasPaid(len(b.Items)-p.atAnswer, p.answered):
		q.pause = postponePause
	}
}

// gathers reports whether postponing gathers the requests of callers, however few.
func (q *Queue) gathers() bool {
	return q.reading == readCaller && q.postpones && q.pause == 0 && q.usual <= postponeMost
}

// postponable reports whether nobody is to write the open batch yet.
func (q *Queue) postponable() bool {
	return q.gathers() && q.head != nil &&
		worthPostponing(q.concurrency, max(q.usual, q.opened-q.head.Taken)) &&
		!q.enough(q.concurrency) && 2*q.bytes < q.maxBytes
}

// enough reports whether the open batch does not wait for more requests.
func (q *Queue) enough(concurrency int) bool {
	b := q.open
	return b != nil && enough(len(b.Items), len(b.Buf), concurrency, q.several)
}

// TakePostponed takes the right to write a batch that was postponed. It returns false
// if there is none.
func (q *Queue) TakePostponed(s *Session) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.session != s || q.open == nil || q.writing {
		return false
	}
	q.writing = true
	return true
}
