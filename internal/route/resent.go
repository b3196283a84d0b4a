package route

import (
	"sync/atomic"

	"github.com/joomcode/redispipe/internal/wire"
	"github.com/joomcode/redispipe/redis"
)

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
	if t := s.ticket.Load(); t != nil {
		return delayIn(t.Queue, t.Seq)
	}
	return redis.Delay{}, false
}
