package redisconn

// While a caller reads the answer to a batch in flight, the open batch is postponed if
// that is worth it (see [worthPostponing]): nobody has the right to write. It is written
//
//   - by the sender whose request gives it enough (see [enough]);
//   - when nothing is in flight any more: by the next caller that is to read, which gets
//     both rights;
//   - by the loop, when that gets the right to read: the future that it is about to
//     resolve may wait for what a postponed request does.

// postponableLocked reports whether nobody is to write the open batch yet.
func (q *queue) postponableLocked() bool {
	return q.reading == readCaller && q.head != nil && q.postpones &&
		worthPostponing(q.concurrency, max(q.usual, q.opened-q.head.taken)) &&
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
