// Package send defines what the wrappers of package redis and the senders of packages redisconn and
// rediscluster agree on in addition to the public interfaces: encoded requests, withdrawing a
// request, and waiting for room in a full queue.
package send

import "context"

// Caller is a caller that waits for a future and can read replies while it waits. Its methods may
// be called from any goroutine, also under a lock: they never block.
//
// A caller that is told to listen may already have begun another request. Then it listens earlier
// than necessary, which does no harm.
type Caller interface {
	// GiveRead gives the caller the right to read. If the caller has left or reads elsewhere,
	// GiveRead does nothing and returns false.
	GiveRead(r ReadRight) bool
	// Listen tells a deaf caller to listen: to wait also for the end of its context. A deaf caller
	// waits only for its future, because that is cheaper. If the caller does something else, Listen
	// does nothing and returns false.
	Listen() bool
	// Waits reports whether the caller's goroutine sends nothing else before it has the result or leaves. A
	// user's own sender, through which the request came, may send more.
	Waits() bool
	// Touch reads the caller's memory, so that it is in the processor's caches when the caller gets
	// its reply. The result has no meaning.
	Touch() int
}

// ReadRight is the right to read the replies of a connection.
type ReadRight struct {
	Reader Reader
	// Last is the last request whose reply the caller is to read.
	Last uint64
}

// Reader is a connection whose replies are read by callers.
type Reader interface {
	// ReadUntil reads replies up to the one of the request last, and passes on the right to read.
	// It returns false if ctx ends first or, if deaf is set, the caller is told to listen. Then the
	// caller still has the right, and must read on or pass the right on. If deaf is set, ReadUntil
	// ignores ctx.
	ReadUntil(ctx context.Context, last uint64, deaf bool) (passed bool)
	// PassRead passes on the right to read.
	PassRead()
}

// Ticket identifies a queued request.
type Ticket struct {
	Queue Withdrawer
	Seq   uint64
	// Heeded is set if the sender watches the context of the request's future: it always resolves
	// the future soon after the context has ended.
	Heeded bool
	// Tells is set if the sender will tell a deaf caller to listen. Otherwise the caller listens
	// from the start.
	Tells bool
	// Moves is set if Queue is a [Staller]. If its server stalls, the caller should send the
	// request again, to another server.
	Moves bool
	// Apart is set if the sender never decodes the reply into the caller's buffer, even if the
	// request asks for that.
	Apart bool
}

// Staller is the queue of a connection whose server may stall while other servers could answer.
type Staller interface {
	// Stalled returns a context that ends when the server has stalled and another one may answer.
	// The next call returns a new context.
	Stalled() context.Context
	// Leave reports whether a caller may leave the stalled server, and send its request again. If
	// not, the caller waits on until the context of another call of Stalled ends.
	Leave() bool
}

// Withdrawer can take requests back.
type Withdrawer interface {
	// Withdraw takes a request back if none of it has been written. If it returns true, the
	// request's future will not be resolved.
	Withdraw(seq uint64) bool
}

// Withdraw takes the request back if it was queued and nothing of it has been written. It reports
// whether it did.
func (t Ticket) Withdraw() bool {
	return t.Queue != nil && t.Queue.Withdraw(t.Seq)
}

// CapacityWaiter is a queue that can be full.
type CapacityWaiter interface {
	// AwaitCapacity waits until the queue has room, or the context ends. If it returns nil, the room
	// is reserved and the caller must send.
	AwaitCapacity(ctx context.Context) error
}
