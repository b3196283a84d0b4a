package send

import "context"

// Backend is the methods of connections and clusters that package redis uses in addition to
// redis.Sender. F is redis.Future.
type Backend[F any] interface {
	// SendEncoded sends a request that is already encoded, so that its arguments never leave the
	// caller's stack.
	SendEncoded(r *Request, cb F, n uint64)
	// WantsSlot reports whether callers must set Request.Slot.
	WantsSlot() bool
	// OpenDedicated lends a connection to the node of the keys, or to any node if there are no keys.
	// last is the error that ended the previous connection, or nil.
	OpenDedicated(ctx context.Context, keys []string, last error) (Dedicated, error)
}

// Counter is the [Backend] of a sender that knows how many requests it was asked to send.
type Counter interface {
	// Requests returns the number, or an estimate. It may be called at any time, and may decrease when
	// connections are closed.
	Requests() uint64
}

// Restorer is the [Backend] of a connection to one server, or of a sender that may use other ones.
type Restorer interface {
	// Restored returns a channel that is closed as soon as the connection has a socket, or will
	// accept no more requests. It is nil if another connection may take requests instead, as in a
	// cluster.
	Restored() <-chan struct{}
}

// Memory is the [Backend] of a sender that answers some requests from its memory. Package redis asks
// it before it sends.
type Memory[F any] interface {
	Backend[F]
	// Recall returns the reply to an encoded request, if it is in memory.
	Recall(request []byte) (Remembered, bool)
}

// Remembered is a reply that was in memory.
type Remembered struct {
	// Text is the reply if IsText is set: a bulk string.
	Text   string
	IsText bool
	// Result is the reply if IsText is not set. The caller owns it.
	Result any
}

// TextTaker is a future that can be resolved with the text of a bulk string and converts it itself.
type TextTaker interface {
	ResolveText(text string, n uint64)
}

// Dedicated is a connection that belongs to one caller until Release.
type Dedicated interface {
	// Exchange sends requests as one batch, and calls each with the index and the result of every
	// request. It returns an error if the connection is lost for good. Requests without a result
	// fail with that error.
	Exchange(ctx context.Context, reqs []Request, each func(i int, res any)) error
	// Server returns the server that answers.
	Server() Server
	// Release ends the use of the connection.
	Release()
}
