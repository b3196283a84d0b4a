package redisconn

// With many requests in flight, the goroutines that the last replies woke are
// about to send their next: whoever writes lets them run first, once, by
// runtime.Gosched. Below this concurrency that costs more than it gains.
const yieldFrom = 16

// smooth follows the number of pending requests upwards at once and downwards
// by an eighth per batch, so that a burst of replies does not look like
// idleness, and a lone goroutine is soon treated as one.
func smooth(concurrency, pending int) int {
	return max(pending, concurrency-(concurrency+7)/8)
}

// yields decides whether a writer lets other goroutines run before it takes the batch.
func yields(concurrency int) bool {
	return concurrency >= yieldFrom
}
