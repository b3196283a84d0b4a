package route

import (
	"sync/atomic"

	"github.com/joomcode/redispipe/internal/wire"
	"github.com/joomcode/redispipe/redis"
)

// TakeTicket makes the link the one that takes back a request that it has queued, so
// that the cluster hears of it.
func (l *Link) TakeTicket(r *wire.Request) {
	if r.Ticket.Queue == nil {
		return
	}
	if l.queue.Load() == nil {
		l.queue.Store(&wire.Ticket{Queue: r.Ticket.Queue})
	}
	r.Ticket.Queue = l
}

// Withdraw implements wire.Withdrawer.
func (l *Link) Withdraw(seq uint64) bool {
	queue := l.queue.Load()
	if queue == nil || !queue.Queue.Withdraw(seq) {
		return false
	}
	l.Node.rules.Withdrawn()
	return true
}

// Delay tells package redis where the time of a request has gone.
func (l *Link) Delay(seq uint64) (redis.Delay, bool) {
	return delayIn(l.queue.Load(), seq)
}

// delayIn asks the queue of a ticket, nil if there is none, where the time of a request has
// gone.
func delayIn(t *wire.Ticket, seq uint64) (redis.Delay, bool) {
	if t == nil {
		return redis.Delay{}, false
	}
	if known, ok := t.Queue.(interface {
		Delay(seq uint64) (redis.Delay, bool)
	}); ok {
		return known.Delay(seq)
	}
	return redis.Delay{}, false
}

var _ wire.Withdrawer = (*Link)(nil)

// Resent tells package redis where the time goes of a request that the cluster has sent
// again: the ticket that the caller got is that of the first attempt. It stands for the
// queue of the last one.
type Resent struct {
	ticket atomic.Pointer[wire.Ticket]
}

// Queued says where the last attempt is.
func (s *Resent) Queued(t wire.Ticket) { s.ticket.Store(&t) }

// Withdraw implements wire.Withdrawer. What was sent again is not taken back.
func (*Resent) Withdraw(uint64) bool { return false }

// Delay tells package redis where the time of the last attempt has gone.
func (s *Resent) Delay(uint64) (redis.Delay, bool) {
	t := s.ticket.Load()
	if t == nil {
		return redis.Delay{}, false
	}
	return delayIn(t, t.Seq)
}
