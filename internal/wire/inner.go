package wire

import "context"

// Ask is how packages of this module ask a sender for its [Inner], by the sender's method
// Inner(Ask) Inner[redis.Future], and a handle for the sender that it stands for, by
// Delegate(Ask) redis.Sender. Nobody else can make one.
type Ask struct {
	// Held is the sender that the caller holds. A decorator that embeds a sender has its
	// methods by promotion, and a Send of its own: the result is nil if Held is not the very
	// sender that is asked.
	Held any
	// Embedded asks for what nothing is sent through: the result is that of the sender that
	// is asked, whatever embeds it.
	Embedded bool
}

// Inner is what package redis uses of connections and clusters beside redis.Sender. F is
// redis.Future.
type Inner[F any] interface {
	// SendEncoded is Send of a request that is encoded already, so that its arguments
	// never leave the caller's stack.
	SendEncoded(r *Request, cb F, n uint64)
	// WantsSlot reports whether Request.Slot is to be set.
	WantsSlot() bool
	// OpenDedicated lends a connection to the node of keys, or to any if there are none.
	// last is the error that ended the previous connection, if there was one.
	OpenDedicated(ctx context.Context, keys []string, last error) (Dedicated, error)
}
