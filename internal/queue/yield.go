package queue

// StartYield returns the number of the turn in which to let other goroutines run before
// the batch is taken, or 0. After the turn, call EndYield.
func (q *Queue) StartYield() (turn uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.yield()
}

// yield starts a turn in which other goroutines run, if that is worth it, and returns its
// number; otherwise 0.
func (q *Queue) yield() (turn uint64) {
	n := max(q.concurrency, q.pending)
	q.yielding, q.yieldedWith = 0, 0
	// If postponing has not paid, the callers do something else in between.
	gathered := q.gathers() || q.pause > 0 && (q.head == nil || q.row < burst)
	if worthYielding(n, gathered) && !q.enough(n) {
		q.turn++
		q.yielding = q.turn
		if q.open != nil {
			q.yieldedWith = len(q.open.Items)
		}
	}
	return q.yielding
}

// EndYield reports whether the caller still has the right to write. again is the number of
// the next turn in which to let others run, if requests have come meanwhile, or 0. If none
// have come, and nobody waits for the last request, its sender may be about to send more: if
// sender is set, the right then passes to the writer goroutine, which takes them all at once.
func (q *Queue) EndYield(turn uint64, sender bool) (mine bool, again uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.yielding != turn {
		return false, 0
	}
	q.yielding = 0
	switch came := q.open != nil && len(q.open.Items) > q.yieldedWith; {
	case came && worthYieldingAgain(q.concurrency, q.several):
		again = q.yield()
	case sender && !came && q.open != nil && q.head != nil && q.open.Items[len(q.open.Items)-1].Caller == nil:
		q.pass(nil, true)
		return false, 0
	}
	return true, again
}
