package memory

import (
	"time"

	"github.com/joomcode/redispipe/redis"
)

// Read is a request that is sent unless the store already has its reply or waits for it.
//
// It belongs to the caller until [Store.Join]. If Join returns [Asks], the store owns it: the exported
// fields no longer change, the lock of the shard of Key guards waiting, and the sender of the request
// calls [Store.Fill] or [Store.GiveUp] once. After that, and after any other result of Join, it belongs
// to the caller alone.
type Read struct {
	Request []byte   // as it is sent
	Key     uint64   // the hash of its first key
	More    []uint64 // the hashes of its other keys
	Lease   *Lease   // the lease of the socket that will read it
	Sent    Instant  // not later than the request is sent
	Listed  bool     // readers without Limits.All may get the reply

	entry   *entry // the entry to fill with the reply
	waiting []Waiter
}

// Reset prepares the read for reuse, and keeps its memory.
func (r *Read) Reset() {
	clear(r.waiting)
	*r = Read{Request: r.Request[:0], More: r.More[:0], waiting: r.waiting[:0]}
}

// Waiter is a waiting future, which may be nil, with its number. The store never resolves it.
type Waiter struct {
	To redis.Future
	N  uint64
}

// Limits are the limits for an acceptable reply: it was read less than Age ago, or less than NullAge if
// it is null, and it is listed, unless All is set.
type Limits struct {
	Age, NullAge time.Duration
	All          bool
}
