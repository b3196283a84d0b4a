package engine

import "time"

// What each of these rules and numbers pays is in docs/engine.md.

// crowd is the number of concurrent requests from which on postponing alone no longer gathers
// them, and most time would go into waking one caller after another.
const crowd = 24

// worthYielding decides whether a writer lets other goroutines run once (runtime.Gosched)
// before it takes the batch, because those that the last replies woke are about to send
// their next requests. gathered is set if postponing gathers these anyway, unless they
// are a crowd.
func worthYielding(concurrency int, gathered bool) bool {
	return concurrency >= crowd || !gathered && !alone(concurrency)
}

// burst is how many batches, since nothing was in flight, are written without yielding if
// postponing has not paid: the few other callers then have something else to do, and yielding
// only delays the writer, unless they keep the connection busy.
const burst = 8

// worthYieldingAgain decides whether a writer that has yielded does so again, if requests
// have come meanwhile. several is whether the callers send to other servers, too: they come
// from all of them, so that a batch for one of them grows slowly.
func worthYieldingAgain(concurrency int, several bool) bool {
	return several && concurrency >= crowd
}

// crowded reports whether the reader goroutine reads for all callers. Passing the right to read
// from one to the next would keep the client busy with waking goroutines while the server waits
// for the next batch.
func crowded(concurrency int) bool { return concurrency >= crowd }

// crowded reports whether the reader goroutine reads for all callers.
func (q *queue) crowded() bool { return crowded(int(q.load.Load())) }

// inTime decides whether a request is likely to be answered in the time that it has left.
// The time that the oldest request in flight has waited beyond the usual shows how much
// has queued up at the server. At twice the load that the server can handle, a request
// that enters now waits twice as long.
func inTime(oldest, usual, left time.Duration) bool {
	queued := oldest - usual
	return left > usual && (queued < overload || queued <= (left-usual)/2)
}

// overload is the least that the oldest request has waited beyond the usual
// for the server to count as overloaded: a fork, or a garbage collection of
// either side, takes some milliseconds and passes.
const overload = 10 * time.Millisecond

// A batch does not wait for more requests when it has half of what is in flight, so
// that the server works on one half while the client deals with the replies to the
// other, or when it reaches enoughMost requests or enoughBytes. If the callers send to
// several servers, it waits for all: while one server works, the client deals with the
// others' replies.
const (
	enoughLeast = 16
	enoughMost  = 128
	enoughBytes = 128 << 10
)

// enough reports whether a batch is large enough to be written without waiting for more.
func enough(items, bytes, concurrency int, several bool) bool {
	share := concurrency / 2
	if several {
		share = concurrency
	}
	return bytes >= enoughBytes || items >= min(enoughMost, max(enoughLeast, share))
}

// postponeMost is the longest round trip for which a batch that has not enough waits for
// the answer to what is in flight, so that the callers woken by that can add their
// requests. It waits for the rest of one round trip at the most.
const postponeMost = 300 * time.Microsecond

// worthPostponing decides whether a batch that has not enough is written only when nothing is
// in flight. roundTrip is the time that batches are in flight, or that the oldest one has been
// if that is longer: behind a server that is slow nothing is postponed.
func worthPostponing(concurrency int, roundTrip time.Duration) bool {
	return !alone(concurrency) && roundTrip <= postponeMost
}

// hasPaid decides whether postponing a batch has paid: whether at least half of the
// callers that the answer woke have added a request to it.
func hasPaid(joined, answered int) bool { return 2*joined >= answered }

// postponePause is how many batches are not postponed after one for which that has not paid: the
// callers have something else to do in between. The pause is shorter in a crowd, where enough of
// them come back now and then.
func postponePause(concurrency int) int {
	if concurrency >= crowd {
		return 32
	}
	return 256
}

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

// gathers reports whether postponing gathers the requests of callers, however few.
func (q *queue) gathers() bool {
	return q.reading == readCaller && q.opts.Yields && q.pause == 0 && q.usual <= postponeMost
}

// postponable reports whether nobody is to write the open batch yet. One whose futures may be
// cancelled is not postponed: nobody would ask them before it is written.
func (q *queue) postponable() bool {
	return q.gathers() && q.head != nil && !q.open.customFutures &&
		worthPostponing(q.concurrency, max(q.usual, q.opened-q.head.Taken)) &&
		!q.enough() && 2*q.bytes < q.maxBytes
}

// enough reports whether the open batch does not wait for more requests.
func (q *queue) enough() bool {
	b := q.open
	return b != nil && enough(len(b.items), len(b.buf), q.concurrency, q.several)
}
