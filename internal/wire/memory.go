package wire

// Memory is a sender that answers some requests out of its memory. Package redis asks it before
// it waits, by the sender's method Memory(Ask) Memory[redis.Future]: see [Ask].
type Memory[F any] interface {
	Inner[F]
	// Recall returns the reply to a request if it is in memory.
	Recall(r *Request) (Remembered, bool)
}

// Remembered is a reply that was in memory.
type Remembered struct {
	// Text is the reply if IsText is set: a bulk string.
	Text   string
	IsText bool
	// Result is any other reply, as it is delivered. It is the caller's own.
	Result any
}
