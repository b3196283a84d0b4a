package memory

import (
	"time"

	"github.com/joomcode/redispipe/redis"
)

// Read is a request to send, unless the store already has the reply or another caller has sent the same
// request.
//
// It belongs to the caller until [Store.Join]. If Join returns [Asks], the store owns the Read: the
// exported fields no longer change, the lock of the shard of Key guards waiting, and the sender of the
// request calls [Store.Fill] or [Store.GiveUp] once. After that, and after any other result of Join, the
// Read belongs to the caller alone.
type Read struct {
	Request []byte   // the encoded request
	Key     uint64   // the hash of its first key
	More    []uint64 // the hashes of its other keys
	Lease   *Lease   // the lease of the socket over which it is sent
	Sent    Instant  // a time before the request is sent
	Listed  bool     // all keys have one of the cache's prefixes, so readers without Limits.All may get the reply

	entry   *entry // the entry to fill with the reply
	waiting []Waiter
}

// Reset clears the read for reuse. It keeps the memory of the slices.
func (r *Read) Reset() {
	clear(r.waiting)
	*r = Read{Request: r.Request[:0], More: r.More[:0], waiting: r.waiting[:0]}
}

// Waiter is a waiting future and the number to resolve it with. The future may be nil. The store never
// resolves it.
type Waiter struct {
	To redis.Future
	N  uint64
}

// Limits decide which kept replies a reader accepts. A reply must have been read less than Age ago, or
// less than NullAge ago if it is null. Unless All is set, it must be listed (see Read.Listed).
type Limits struct {
	Age, NullAge time.Duration
	All          bool
}
