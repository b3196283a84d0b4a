package redis

// Sender sends requests and has their futures resolved later. It is what
// connections, clusters and their wrappers share; implementations are safe for
// use by many goroutines at once, unless they say otherwise.
type Sender interface {
	// Send sends a request; cb is resolved once, with n. Send never blocks,
	// and the arguments may be changed as soon as it returns.
	// A nil cb drops the result.
	Send(r Request, cb Future, n uint64)
	// SendMany sends several requests; cb is resolved once for each, with
	// start+i for the request of index i.
	SendMany(r []Request, cb Future, start uint64)
	// SendTransaction sends requests between MULTI and EXEC; cb is resolved
	// once, with start and what EXEC answered. See TransactionResponse.
	SendTransaction(r []Request, cb Future, start uint64)
	// Scanner returns an iterator over keys, or over the elements of a key.
	Scanner(opts ScanOpts) Scanner
	// EachShard calls f with a Sender for each master, until f returns false.
	// Where a master has no live connection, f gets a nil Sender and an error.
	EachShard(f func(Sender, error) bool)
	// Close ends the sender. What was not written is resolved as not sent.
	Close()
}

// Scanner iterates in batches.
type Scanner interface {
	// Next has cb resolved with the next batch ([]string), with an error, or
	// with ScanEOF when there is no more. One Next at a time. After an error the
	// next call repeats the step that failed; after ScanEOF it gives ScanEOF again.
	Next(cb Future)
}
