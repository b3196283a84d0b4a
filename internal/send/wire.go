// Package send is what the wrappers of package redis and the senders of
// packages redisconn and rediscluster agree on in addition to the public interfaces:
// requests that are encoded already, how to take one back, and how to wait
// for room in a full queue.
package send

import "context"

// Caller is a caller that waits for a future, and can read replies meanwhile. What it does
// may be done in any goroutine, also under a lock: it never blocks.
//
// One that is told to listen may already be used for another request: then it listens earlier
// than it has to, which does no harm.
type Caller interface {
	// GiveRead gives the caller the right to read. It returns false, and does
	// nothing, if nobody waits any more or the caller reads elsewhere.
	GiveRead(r ReadRight) bool
	// Listen tells a caller that waits for its future alone, which is cheaper, to wait for
	// the end of its context, too. It returns false, and does nothing, if the caller does
	// something else.
	Listen() bool
	// Touch reads the caller's memory, so that it is in the processor's caches when the caller
	// gets its reply. What it returns means nothing.
	Touch() int
}

// ReadRight is the right to read the replies of a connection.
type ReadRight struct {
	Reader Reader
	// Last is the last request that the caller is to read the reply of.
	Last uint64
}

// Reader is a connection whose replies are read by callers.
type Reader interface {
	// ReadUntil reads replies up to that of the request last, and passes the
	// right on. If ctx ends first it returns false, and the right is still the
	// caller's, which has to pass it on. If deaf is set it need not heed ctx before the
	// caller is told to listen.
	ReadUntil(ctx context.Context, last uint64, deaf bool) (passed bool)
	// PassRead passes the right to read on.
	PassRead()
}

// Ticket names a queued request.
type Ticket struct {
	Queue Withdrawer
	Seq   uint64
	// Heeded is set if the sender heeds the context of the request's future: it
	// resolves that soon after the context has ended, in any case.
	Heeded bool
	// Tells is set if the sender will tell a deaf caller to listen; else the caller listens
	// at once.
	Tells bool
}

// Withdrawer takes requests back.
type Withdrawer interface {
	// Withdraw takes a request back if none of it was written yet. If it
	// returns true, the request's future will not be resolved.
	Withdraw(seq uint64) bool
}

// Withdraw takes the request back, if it was ever queued and is not written yet.
func (t Ticket) Withdraw() bool {
	return t.Queue != nil && t.Queue.Withdraw(t.Seq)
}

// CapacityWaiter is a queue that can be full.
type CapacityWaiter interface {
	// AwaitCapacity waits until the queue has room, or the context ends. If it
	// returns nil the caller has to send: the room is kept for it.
	AwaitCapacity(ctx context.Context) error
}
