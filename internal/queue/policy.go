package queue

import "time"

// What each of these rules and numbers pays is in docs/engine.md.

// smooth follows the number of pending requests upwards at once and downwards
// by an eighth per batch, so that a burst of replies does not look like
// idleness, and a lone goroutine is soon treated as one.
func smooth(concurrency, pending int) int {
	return max(pending, concurrency-(concurrency+7)/8)
}

// Alone reports whether requests come one at a time.
func Alone(concurrency int) bool { return concurrency <= 1 }

// crowd is from how many concurrent requests on callers come as a crowd: postponing no longer
// gathers them by itself, and to wake one after another is what takes the time.
const crowd = 24

// worthYielding decides whether a writer lets other goroutines run, once, by
// runtime.Gosched, before it takes the batch: those that the last replies woke are
// about to send their next requests. gathered is whether postponing gathers these anyway,
// unless they are a crowd.
func worthYielding(concurrency int, gathered bool) bool {
	return concurrency >= crowd || !gathered && !Alone(concurrency)
}

// burst is how many batches in a row, since nothing was in flight, are written without
// yielding if postponing has not paid. Who yields for a few others that have something else to
// do is only delayed by that, unless they keep the connection busy.
const burst = 8

// worthYieldingAgain decides whether a writer that has yielded does so again, if requests
// have come meanwhile. several is whether the callers send to other servers, too: they come
// from all of them, so that a batch for one of them grows slowly.
func worthYieldingAgain(concurrency int, several bool) bool {
	return several && concurrency >= crowd
}

// ExtraReplies reports whether a caller that has read its own reply reads those of
// others, too, as long as they have come already, before it passes the right to read
// on. To pass it on for every reply would keep the client busy with one goroutine after
// another while the server waits for the next batch.
func ExtraReplies(concurrency int) bool { return concurrency >= crowd }

// leastInFlight follows the time that batches are in flight downwards at once and
// upwards slowly, so that it is what the network and an idle server take.
func leastInFlight(old, latest time.Duration) time.Duration {
	if old == 0 {
		return latest
	}
	return min(latest, old+old/64+1)
}

// inTime decides whether a request can be expected to be answered in the time that it
// has left. How long the oldest request in flight has waited beyond the usual is what
// has queued up at the server. At twice the load that can
// be served the queue grows as fast as it is worked off, so that a request that
// enters now waits twice as long.
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

// enough reports whether a batch does not wait for more.
func enough(items, bytes, concurrency int, several bool) bool {
	share := concurrency / 2
	if several {
		share = concurrency
	}
	return bytes >= enoughBytes || items >= min(enoughMost, max(enoughLeast, share))
}

// postponeMost is the longest round trip for which a batch that has not enough waits
// for the answer to what is in flight: the callers whom that wakes send what goes with it.
// It waits for the rest of one round trip at the most.
const postponeMost = 300 * time.Microsecond

// worthPostponing decides whether a batch that has not enough is written only when nothing is
// in flight. roundTrip is the time that batches are in flight, or that the oldest one has been
// if that is longer: behind a server that is slow nothing is postponed.
func worthPostponing(concurrency int, roundTrip time.Duration) bool {
	return !Alone(concurrency) && roundTrip <= postponeMost
}

// hasPaid decides whether it has paid to postpone a batch: whether half of those whom the
// answer woke have sent what goes with it.
func hasPaid(joined, answered int) bool { return 2*joined >= answered }

// postponePause is how many batches are not postponed after one for which that has not
// paid: the callers have something else to do in between.
const postponePause = 32
