package redis

// Sender sends requests whose futures are resolved later. Connections, clusters and
// wrappers of them are Senders. Implementations are safe for use by many goroutines,
// unless they say otherwise.
type Sender interface {
	// Send sends a request; cb is resolved once, with n, perhaps before Send returns.
	// Send never blocks, and the caller may change the arguments as soon as it returns. A
	// nil cb drops the result.
	Send(r Request, cb Future, n uint64)
	// SendMany sends several requests; cb is resolved once for each, with
	// start+i for the request of index i.
	SendMany(r []Request, cb Future, start uint64)
	// SendTransaction sends requests between MULTI and EXEC; cb is resolved once, with
	// start and the answer to EXEC. See [TransactionResponse].
	SendTransaction(r []Request, cb Future, start uint64)
	// Scanner returns an iterator over keys, or over the elements of a key.
	Scanner(opts ScanOpts) Scanner
	// EachShard calls f with a Sender for each master, until f returns false. For a
	// master without a connection f gets a nil Sender and an error.
	EachShard(f func(Sender, error) bool)
	// Close ends the sender. Requests that are not written yet end as not sent.
	Close()
}

// Scanner iterates in batches.
type Scanner interface {
	// Next has cb resolved with the next batch ([]string), with an error, or
	// with ScanEOF when there is no more. One Next at a time. After an error the
	// next call repeats the step that failed; after ScanEOF it gives ScanEOF again.
	Next(cb Future)
}
