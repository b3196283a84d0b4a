package redisconn

import (
	"context"
)

// room is how many requests a caller waits for room for.
type room struct {
	q        *queue
	requests int
}

// place is that of a caller that waits for room.
type place struct {
	requests int
	woken    chan struct{}
}

// AwaitRoom implements wire.Roomer. It also returns when the connection is
// lost: sending again then tells so.
func (r room) AwaitRoom(ctx context.Context) error {
	q := r.q
	q.mu.Lock()
	if !q.state.accepts() || q.fitsLocked(r.requests) || q.pending == 0 {
		q.mu.Unlock()
		return nil
	}
	woken := make(chan struct{}, 1)
	waiting := q.room.PushBack(place{r.requests, woken})
	q.mu.Unlock()
	select {
	case <-woken:
		return nil // who is let in has to send, whatever becomes of ctx
	case <-ctx.Done():
		q.mu.Lock()
		defer q.mu.Unlock()
		q.room.Remove(waiting)
		if len(woken) > 0 { // pass on the place that was meant for this caller
			q.wakeLocked()
		}
		return context.Cause(ctx)
	}
}

// wakeLocked lets in as many of the callers that wait for room as there is
// room for; all of them, when the connection is lost.
func (q *queue) wakeLocked() {
	if q.draining != nil && q.pending == q.own && !q.drained {
		q.drained = true
		close(q.draining)
	}
	for let := 0; q.room.Len() > 0; {
		first := q.room.Front().Value.(place)
		if q.state.accepts() && !q.fitsLocked(let+first.requests) && q.pending+let > 0 {
			return
		}
		let += first.requests
		q.room.Remove(q.room.Front())
		first.woken <- struct{}{}
	}
}
