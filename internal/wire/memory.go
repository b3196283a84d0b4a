package wire

// Memory is a sender that answers some requests out of its memory. Package redis asks it before
// it waits, by the sender's method Memory(Ask) Memory[redis.Future]: see [Ask].
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

// TextTaker is a future that takes a bulk string which nobody changes: it makes of it what it is
// resolved with, or wants it for.
type TextTaker interface {
	ResolveText(text string, n uint64)
}
