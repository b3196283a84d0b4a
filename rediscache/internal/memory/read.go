package memory

import (
	"time"

	"github.com/joomcode/redispipe/redis"
)

// Read is a request that is sent unless the store has its reply, or awaits it already.
//
// It is the caller's until [Store.Join]. If that returns [Asks], the store has it: what is exported
// stays what it is, waiting is guarded by the lock of the shard of Key, and whoever sends the request
// calls [Store.Fill] or [Store.GiveUp], once. From then on, and after any other result of Join, it is
// the caller's alone.
type Read struct {
	Request []byte   // as it is sent
	Key     uint64   // the hash of its first key
	More    []uint64 // those of the others
	Lease   *Lease   // of the socket that is to read it
	Sent    Instant  // not after it is sent
	Listed  bool     // readers need not have Limits.All

	entry   *entry // that is to be filled
	waiting []Waiter
}

// Reset makes the read a new one, with the room that it has.
func (r *Read) Reset() {
	clear(r.waiting)
	*r = Read{Request: r.Request[:0], More: r.More[:0], waiting: r.waiting[:0]}
}

// Waiter is who waits for a read: a future, which may be nil, with its number. The store resolves
// none.
type Waiter struct {
	To redis.Future
	N  uint64
}

// Limits say what somebody takes for an answer: a reply that was read less than Age ago, less than
// NullAge if it is null, and only a listed one, unless All is set.
type Limits struct {
	Age, NullAge time.Duration
	All          bool
}
