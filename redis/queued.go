package redis

import (
	"sync"

	"github.com/joomcode/redispipe/internal/wire"
)

// queued is the part of a future of several requests that keeps the ticket of the last.
type queued struct {
	queueing sync.Mutex // guards ticket
	ticket   wire.Ticket
}

// Queued implements wire.Queuer.
func (q *queued) Queued(t wire.Ticket) {
	q.queueing.Lock()
	defer q.queueing.Unlock()
	q.ticket = t
}

// lastQueued returns the ticket of the last request, if it is known.
func (q *queued) lastQueued() wire.Ticket {
	q.queueing.Lock()
	defer q.queueing.Unlock()
	return q.ticket
}

// heeded returns the ticket of a blocking request that was sent by itself, if its sender
// heeds the context.
func (q *queued) heeded() wire.Ticket {
	if t := q.lastQueued(); t.Heeded {
		return t
	}
	return wire.Ticket{}
}
