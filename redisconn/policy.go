package redisconn

import "time"

// smooth follows the number of pending requests upwards at once and downwards
// by an eighth per batch, so that a burst of replies does not look like
// idleness, and a lone goroutine is soon treated as one.
func smooth(concurrency, pending int) int {
	return max(pending, concurrency-(concurrency+7)/8)
}

// yields decides whether a writer lets other goroutines run, once, by
// runtime.Gosched, before it takes the batch: those that the last replies woke
// are about to send their next requests. With and without it, two cores and
// Redis on loopback, µs per request: 2 goroutines 22.8 and 27.3, 8: 8.5 and
// 12.7, 128: 3.1 and 5.8, 1000: 2.1 and 3.5. A lone goroutine waits for nobody.
func yields(concurrency int) bool { return !alone(concurrency) }

// alone tells whether requests come one at a time.
func alone(concurrency int) bool { return concurrency <= 1 }

// usual follows the time that batches are in flight downwards at once and
// upwards slowly, so that it is what the network and an idle server take.
func usual(old, latest time.Duration) time.Duration {
	if old == 0 {
		return latest
	}
	return min(latest, old+old/64+1)
}

// inTime decides whether a request can be expected to be answered while it has
// time left. The oldest request in flight has waited for some time beyond the
// usual: that is what has queued up at the server. At twice the load that can
// be served the queue grows as fast as it is worked off, so that who enters
// now waits twice as long.
func inTime(oldest, usual, left time.Duration) bool {
	queued := oldest - usual
	return left > usual && (queued < overload || queued <= (left-usual)/2)
}

// overload is the least that the oldest request has waited beyond the usual
// for the server to count as overloaded: a fork, or a garbage collection of
// either side, takes some milliseconds and passes.
const overload = 10 * time.Millisecond

// holds decides whether a small batch waits while another is in flight, which
// lately took the given time at the least. It is asked for servers on the same
// machine only: that time is the server's own then, so that waiting for it costs
// a request next to nothing, while each batch costs the server as much as some
// requests do. Two cores, time and Redis' CPU per request in µs, without and with
// it: 8 goroutines 7.4 and 4.3, 7.3 and 3.6; 16: 4.4 and 3.0, 4.3 and 2.8; 128
// alike; 128 on a cluster of three 3.2 and 2.9, 3.0 and 2.7. With batches of up to
// a half of what is in flight held, the server idles: 128 goroutines took 2.5
// instead of 2.0.
func holds(items, bytes, concurrency int, usual time.Duration) bool {
	return items < min(holdItems, concurrency/2) && bytes < holdBytes && 0 < usual && usual < holdMost
}

// heldMost is when the writer looks after a batch that is held back: its request
// may be what a future waits for that holds the reader. So a batch waits no longer
// than twice that. Two hundred wake-ups a second while batches are held back are
// too few to be measured.
const heldMost = 5 * time.Millisecond

const (
	holdItems = 3
	// holdBytes is where bytes, and not batches, are what costs.
	holdBytes = 1 << 10
	// holdMost is where a time in flight is no longer the server's own, but that of
	// a proxy or a tunnel to another machine.
	holdMost = 100 * time.Microsecond
)

// A batch of a half of what is in flight leaves the server at work on one half
// while the replies to the other are dealt with; thirds and all of it were no
// faster. Nor is one to be longer than enoughBytes: 64 goroutines with 16 KiB
// values took 16.7, 14.5, 14.2, 11.8 and 13.4 µs per request with 16, 32, 64,
// 128 and 512 KiB. Nor of more than enoughMost: 1000 goroutines took 2.6 µs so,
// and 2.9 with batches of 500, which make more goroutines ready at once than a
// processor's run queue holds (256).
const (
	enoughLeast = 16
	enoughMost  = 128
	enoughBytes = 128 << 10
)

// enough decides whether a batch is not to wait for more.
func enough(items, bytes, concurrency int) bool {
	return bytes >= enoughBytes || items >= min(enoughMost, max(enoughLeast, concurrency/2))
}
