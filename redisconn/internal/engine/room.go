package engine

import (
	"context"

	"github.com/joomcode/redispipe/internal/lifetime"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/redis"
)

// room is the room in a queue for the requests of one caller.
type room struct {
	queue *queue
	load
}

// RoomFor returns the room for one request.
func (q *queue) RoomFor(r *send.Request) room {
	return room{q, loadOf([]*send.Request{r})}
}

var _ send.CapacityWaiter = room{}

// AwaitCapacity implements send.CapacityWaiter. It also returns nil when the connection is lost:
// if the caller then sends the request again, the result is the reason.
func (r room) AwaitCapacity(ctx context.Context) error {
	q := r.queue
	q.mu.Lock()
	if !q.state.Accepts() || q.fits(r.load) || q.pending == 0 {
		q.mu.Unlock()
		return nil
	}
	woken := make(chan struct{}, 1)
	place := q.waiting.PushBack(waiter{r.load, woken})
	q.mu.Unlock()
	select {
	case <-woken:
		return nil // an admitted caller must send, even if ctx has ended
	case <-ctx.Done():
		q.mu.Lock()
		defer q.mu.Unlock()
		q.waiting.Remove(place)
		if len(woken) > 0 { // the caller was admitted but leaves: pass its room on
			q.admitWaiting()
		}
		return lifetime.Reason(ctx)
	}
}

// Delay returns the number and size of the requests ahead of one that waits for room.
func (r room) Delay(uint64) (d redis.Delay, ok bool) {
	q := r.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	q.setAhead(&d, q.seq, q.takenBytes+uint64(q.bytes))
	return d, true
}

// Drain makes the queue refuse users' requests from now on. It returns a channel that is closed
// when none of them is pending any more.
func (q *queue) Drain() <-chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.draining == nil {
		q.draining = make(chan struct{})
	}
	q.admitWaiting()
	q.tellRestored()
	return q.draining
}

// Entered returns the number of requests that have entered, including the library's own.
func (q *queue) Entered() uint64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.seq
}

// Draining reports whether Drain was called.
func (q *queue) Draining() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.draining != nil
}

// Left counts users' pending requests by outcome, as if the connection ended now.
func (q *queue) Left() (notSent, unknown int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.open != nil {
		notSent = len(q.open.items) - q.open.withdrawn - q.open.internal
	}
	return notSent + q.held.requests, q.pending - q.internal - notSent
}
