package send

import "context"

// Key is how packages of this module ask a sender for its [Inner], by the sender's method
// Inner(Key) Inner[redis.Future], and a handle for the sender that it stands for, by
// Delegate(Key) redis.Sender. Nobody else can make one.
type Key struct {
	// Held is the sender that the caller holds. A decorator that embeds a sender has its
	// methods by promotion, and a Send of its own: the result is nil if Held is not the very
	// sender that is asked.
	Held any
	// Embedded is set if nothing is to be sent through the result: then the sender that is asked
	// answers, whatever embeds it.
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

// Restorer is the [Inner] of a connection to one server.
type Restorer interface {
	// Restored returns a channel that is closed while the connection has a socket, and when it takes no
	// more requests. It is nil if another connection may take requests instead, as in a cluster.
	Restored() <-chan struct{}
}

// Memory is a sender that answers some requests out of its memory. Package redis asks it before
// it waits, by the sender's method Memory(Key) Memory[redis.Future]: see [Key].
type Memory[F any] interface {
	Inner[F]
	// Recall returns the reply to a request, as it is encoded, if it is in memory.
	Recall(request []byte) (Remembered, bool)
}

// Remembered is a reply that was in memory.
type Remembered struct {
	// Text is the reply if IsText is set: a bulk string.
	Text   string
	IsText bool
	// Result is any other reply, as it is delivered. It is the caller's own.
	Result any
}

// TextTaker is a future that can be resolved with the text of a bulk string, and makes its
// result of that itself.
type TextTaker interface {
	ResolveText(text string, n uint64)
}

// Dedicated is a connection that one caller has to itself, until Release.
type Dedicated interface {
	// Exchange sends requests at once, and calls each with every result. The error is
	// that with which the connection was lost, for good: requests without a result end
	// with it.
	Exchange(ctx context.Context, reqs []Request, each func(i int, res any)) error
	// Server is where answers come from.
	Server() Server
	// Release ends the use of the connection.
	Release()
}
