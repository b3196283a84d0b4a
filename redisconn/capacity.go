package redisconn

import (
	"context"

	"github.com/joomcode/redispipe/redis"
)

// capacity is how many requests a caller waits for room for.
type capacity struct {
	q        *queue
	requests int
}

// capacityWaiter is a caller that waits for room.
type capacityWaiter struct {
	requests int
	woken    chan struct{}
}

// AwaitCapacity implements wire.CapacityWaiter. It also returns when the connection is
// lost: sending again then tells so.
func (c capacity) AwaitCapacity(ctx context.Context) error {
	q := c.q
	q.mu.Lock()
	if !q.state.accepts() || q.fitsLocked(c.requests) || q.pending == 0 {
		q.mu.Unlock()
		return nil
	}
	woken := make(chan struct{}, 1)
	waiting := q.waiters.PushBack(capacityWaiter{c.requests, woken})
	q.mu.Unlock()
	select {
	case <-woken:
		return nil // a caller that is let in has to send, even if ctx has ended
	case <-ctx.Done():
		q.mu.Lock()
		defer q.mu.Unlock()
		q.waiters.Remove(waiting)
		if len(woken) > 0 { // pass on the place that was meant for this caller
			q.admitWaitersLocked()
		}
		return context.Cause(ctx)
	}
}

// Delay tells package redis what is ahead of a request that waits for room.
func (c capacity) Delay(uint64) (d redis.Delay, ok bool) {
	c.q.mu.Lock()
	defer c.q.mu.Unlock()
	c.q.setAheadLocked(&d, c.q.seq, c.q.takenBytes+uint64(c.q.bytes))
	return d, true
}

// admitWaitersLocked lets in as many of the callers that wait for room as there is
// room for; all of them, when the connection is lost.
func (q *queue) admitWaitersLocked() {
	if q.draining != nil && q.pending == q.own && !q.drained {
		q.drained = true
		close(q.draining)
	}
	for let := 0; q.waiters.Len() > 0; {
		first := q.waiters.Front().Value.(capacityWaiter)
		if q.state.accepts() && !q.fitsLocked(let+first.requests) && q.pending+let > 0 {
			return
		}
		let += first.requests
		q.waiters.Remove(q.waiters.Front())
		first.woken <- struct{}{}
	}
}
