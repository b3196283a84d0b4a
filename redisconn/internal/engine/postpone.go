package engine

import "time"

// While a caller reads the answer to a batch in flight, the open batch is postponed if that is
// worth it (see [worthPostponing]). Then nobody has the right to write it. It is written
//
//   - by the sender whose request gives it enough (see [enough]);
//   - when nothing is in flight any more: by the next caller that is to read, which gets
//     both rights;
//   - by the loop, when it gets the right to read: the loop is about to resolve a future, and that
//     future may wait for the effect of a postponed request.
//
// If few of the callers that the answer woke have sent anything by then, postponing has not paid,
// and the next batches are not postponed: the callers do something else in between.

// gathers reports whether batches are postponed at present, so that requests of several callers
// gather.
func (q *queue) gathers() bool {
	return q.reading == readCaller && q.opts.Yields && q.pause == 0 && q.minTrip <= postponeMost
}

// postponable reports whether nobody should write the open batch yet. A batch with futures that may
// be cancelled is not postponed, because nobody would ask them before it is written.
func (q *queue) postponable() bool {
	return q.gathers() && q.head != nil && !q.open.customFutures &&
		worthPostponing(q.concurrency, max(q.minTrip, q.opened-q.head.Taken)) &&
		!q.enough() && 2*q.bytes < q.maxBytes
}

// enough reports whether the open batch is large enough to be written without waiting for more
// requests.
func (q *queue) enough() bool {
	b := q.open
	if b == nil || len(b.buf) >= enoughBytes {
		return b != nil
	}
	inParallel := q.session != nil && q.session.parallel.is()
	return len(b.items) >= enough(q.concurrency, q.bytesInFlight(), q.mostWaited, q.crowded.Load(), q.others != nil, inParallel)
}

// light reports whether the callers send to one server only, and their requests and replies are
// small: see [lightMost].
func (q *queue) light() bool { return q.others == nil && q.bytesInFlight() <= lightMost }

// bytesInFlight estimates the size of the requests in flight and their replies.
func (q *queue) bytesInFlight() int { return q.concurrency * q.requestBytes }

// postponed describes the open batch, to judge later whether postponing it has paid.
type postponed struct {
	since time.Duration // when it was postponed, or 0
	// atAnswer is the number of requests in the open batch when the answer to the oldest batch in
	// flight began; answered is the number of requests in that oldest batch.
	atAnswer, answered int
}
