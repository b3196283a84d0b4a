package engine

import "time"

// docs/engine.md shows what each of these rules and numbers gains.

// In a crowd waking one caller after another would take most of the time, so the reader goroutine
// reads for all callers. A crowd begins with crowdBegins concurrent requests if they are light, and
// with crowdEnds otherwise. It ends with fewer than crowdEnds. If it ended where it begins, the engine
// could change its ways with every batch.
const (
	crowdBegins = 48
	crowdEnds   = 24
)

// crowded reports whether there is a crowd. already is set if there was one before.
func crowded(concurrency int, already, light bool) bool {
	return concurrency >= crowdBegins || concurrency >= crowdEnds && (already || !light)
}

// lightMost is the number of bytes up to which the requests in flight and their replies are light:
// client and server handle them in less time than it takes to wake each other. From heavyLeast bytes on
// they are heavy: handling them takes much longer than that.
const (
	lightMost  = 20 << 10
	heavyLeast = 96 << 10
)

// alone reports whether requests come one at a time.
func alone(concurrency int) bool { return concurrency <= 1 }

// worthYielding decides whether a writer lets other goroutines run once (runtime.Gosched) before it
// takes the batch: the callers that the last replies woke are about to send their next requests.
// gathered is set if postponing gathers these requests anyway. In a crowd that does not count.
func worthYielding(concurrency int, crowded, gathered bool) bool {
	return crowded || !gathered && !alone(concurrency)
}

// burst is the number of batches, counted from when nothing was in flight, that are written without
// yielding while postponing does not pay. The callers of such batches do something else between two
// requests, so yielding would only delay the writer. Only callers that keep the connection busy for
// more batches than that are worth yielding to.
const burst = 8

// wide is a number of concurrent requests, counted over all servers. From this number
// on, writers may yield even in a burst: the callers send to other servers between two requests.
const wide = 4

// worthYieldingAgain decides whether a writer yields once more after requests have entered. A crowd
// of callers that send to several servers is worth it, because the batch for one server grows
// slowly.
func worthYieldingAgain(crowded, manyServers bool) bool { return crowded && manyServers }

// inTime decides whether a request is likely to be answered in the time that it has left. The time
// that the oldest request in flight has waited beyond minTrip shows how much is queued at the
// server. If the load is twice what the server can handle, a request that enters now will wait
// twice as long as that.
func inTime(oldest, minTrip, left time.Duration) bool {
	queued := oldest - minTrip
	return left > minTrip && (queued < overload || queued <= (left-minTrip)/2)
}

// overload is how long the oldest request must have waited beyond the shortest trip before the
// server counts as overloaded. A fork, or a garbage collection on either side, also takes
// milliseconds, but is no overload.
const overload = 10 * time.Millisecond

// A batch of light requests waits for all callers, until the requests in flight are answered, unless
// there is a crowd. Otherwise a batch does not wait for more if it has at least enoughLeast requests,
// and half as many as are in flight: then the server works on one half while the client handles the
// replies to the other. If the callers send to several servers, a batch always waits for all callers,
// because the client handles the other servers' replies while one server works. No batch waits if it
// has enoughMost requests or enoughBytes.
//
// Without a crowd, a third of the callers is enough for heavy requests.
//
// If the program has one processor (GOMAXPROCS), no goroutine runs during a write, so
// enoughMostOfOne takes the place of enoughMost. If, in addition, the server runs in parallel (see
// [parallel]), a third is enough for all requests: the server answers one third while the client
// handles the replies to another.
const (
	enoughLeast     = 16
	enoughMost      = 128
	enoughMostOfOne = 512
	enoughBytes     = 128 << 10
)

// mostWaited returns the number of requests that is always enough on a machine with the given number of
// processors.
func mostWaited(processors int) int {
	if processors == 1 {
		return enoughMostOfOne
	}
	return enoughMost
}

// enough returns the number of requests with which a batch is written without waiting for more. bytes
// is the size of the requests in flight and their replies, and most the result of [mostWaited].
func enough(concurrency, bytes, most int, crowded, manyServers, inParallel bool) int {
	switch thirds := inParallel || bytes >= heavyLeast; {
	case manyServers:
		return most
	case thirds && !crowded && concurrency/3 > 1:
		return concurrency / 3
	case crowded || bytes > lightMost:
		return min(most, max(enoughLeast, concurrency/2))
	default:
		return most
	}
}

// postponeMost is the longest round trip with which a small batch waits for the answer to the
// requests in flight. The callers that this answer wakes can then add their requests to the batch.
// It waits for at most the rest of one round trip.
const postponeMost = 300 * time.Microsecond

// worthPostponing decides whether a small batch is written only when nothing is in flight.
// roundTrip is the time that batches are in flight, or the age of the oldest one if that is longer:
// behind a slow server nothing is postponed.
func worthPostponing(concurrency int, roundTrip time.Duration) bool {
	return !alone(concurrency) && roundTrip <= postponeMost
}

// hasPaid decides whether postponing a batch has paid: at least half of the callers that the answer
// woke have added a request.
func hasPaid(joined, answered int) bool { return 2*joined >= answered }

// postponePause returns the number of batches that are not postponed after postponing one has not
// paid, because the callers do something else between two requests. The pause is shorter in a
// crowd, where enough callers return from time to time.
func postponePause(crowded bool) int {
	if crowded {
		return 32
	}
	return 256
}
