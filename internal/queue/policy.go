package queue

import "time"

// smooth follows the number of pending requests upwards at once and downwards
// by an eighth per batch, so that a burst of replies does not look like
// idleness, and a lone goroutine is soon treated as one.
func smooth(concurrency, pending int) int {
	return max(pending, concurrency-(concurrency+7)/8)
}

// yieldFrom is from how many concurrent requests on a writer yields. With fewer, postponing
// gathers the requests, so that a yield brings none, and runtime.Gosched wakes a thread that
// takes a processor from a server on the same machine. Two cores, time per request with 16
// over that with 3: 4 goroutines 0.95, 8: 0.8, 16: 1.0, 8 over TLS 0.86. Without yielding at
// all, 128 took 1.9 times as long, 1000 1.7 times.
//
// yieldAloneFrom is the same where postponing gathers nothing. With 3, 8 callers of a
// server that is 0.6 ms away made batches of 6 requests, with 16 of 1.3; 8 that wait for a
// ChanFutured made batches of 5 and of 1.1, the latter in twice the time. Eight workers that
// push on the shared connection and pop on others take 1.1 times as long for a job with 16;
// but with 3, of eight elements in as many queues, each takes 1.3 times as long from its
// push to the blocking pop that waits for it.
const (
	yieldFrom      = 16
	yieldAloneFrom = 3
)

// worthYielding decides whether a writer lets other goroutines run, once, by
// runtime.Gosched, before it takes the batch: those that the last replies woke are
// about to send their next requests. gathered is whether postponing gathers these anyway.
func worthYielding(concurrency int, gathered bool) bool {
	return concurrency >= yieldFrom || !gathered && concurrency >= yieldAloneFrom
}

// yieldAgainFrom is from how many concurrent requests on a writer that has yielded does so
// again while requests come. The callers of a cluster come from all of its nodes, so that a
// batch for one of them grows slowly: 128 goroutines and three nodes made batches of 34
// requests instead of 26, in 0.8 of the time.
const yieldAgainFrom = 24

// worthYieldingAgain decides whether a writer that has yielded does so again, if requests
// have come meanwhile. several is whether the callers send to other servers, too.
func worthYieldingAgain(concurrency int, several bool) bool {
	return several && concurrency >= yieldAgainFrom
}

// Alone reports whether requests come one at a time.
func Alone(concurrency int) bool { return concurrency <= 1 }

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
//
// On one server, 128 goroutines took 1.2 to 1.6 times as long with all of what is in flight
// as with half, and no less with a third. On three, all of it took 0.8 of the time of
// half, with batches of 33 requests instead of 15, both with postponing. With 16, 32, 64, 128
// and 512 KiB, 64 goroutines with 16 KiB values took 16.7, 14.5, 14.2, 11.8 and 13.4 µs
// per request. With batches of 500 requests, 1000 goroutines took 2.9 µs instead of
// 2.6: they make more goroutines ready at once than a processor's run queue holds (256).
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
// It waits for the rest of one round trip at the most. Two cores, time per request with
// postponing over that without: 4 goroutines 0.73, 8: 0.76, 16: 0.71, 64: 0.93, 128: 0.87,
// 1000: 1.0; the server's processor time 0.84, 0.91, 0.74, 0.85, 0.83 and 1.0.
const postponeMost = 300 * time.Microsecond

// postponeFrom is from how many concurrent requests on batches are postponed. Two callers
// wait less for each other if none is.
const postponeFrom = 3

// worthPostponing decides whether a batch that has not enough is written only when nothing is
// in flight. roundTrip is the time that batches are in flight, or that the oldest one has been
// if that is longer: behind a server that is slow nothing is postponed.
func worthPostponing(concurrency int, roundTrip time.Duration) bool {
	return concurrency >= postponeFrom && roundTrip <= postponeMost
}

// hasPaid decides whether it has paid to postpone a batch: whether half of those whom the
// answer woke have sent what goes with it. With three quarters instead, 4, 8 and 16 callers
// took 1.02, 1.18 and 1.09 times as long.
func hasPaid(joined, answered int) bool { return 2*joined >= answered }

// postponePause is how many batches are not postponed after one for which that has not
// paid. Eight workers that push on the shared connection and pop on others took 17.4 µs for
// a job, 16.6 without postponing; in another run 14 without, and 20 when every batch was
// postponed. Pauses of 8, 128 and 1024 batches differ by less than the spread of runs.
const postponePause = 32

// extraFrom is from how many concurrent requests on a caller that reads also resolves
// for others what has come already; below, each reads its own. Passing the right on for
// every reply keeps the client busy with one goroutine after another while the server
// waits for the next batch. Two cores, µs per request, each its own and all that has come: 4
// goroutines 12.1 and 14.0, 8: 7.7 and 9.2, 128: 1.57 and 1.05, 1000: 1.19 and 0.75.
const extraFrom = 24

// ExtraReplies reports whether a caller that has read its own reply reads those of
// others, too, as long as they have come already, before it passes the right to read
// on.
func ExtraReplies(concurrency int) bool { return concurrency >= extraFrom }
