package redis

import (
	"errors"

	"github.com/joomcode/redispipe/internal/command"
)

// Future takes the result of a request.
type Future interface {
	// Resolve is called once, with the result and the n that was given with the
	// request. It may be called in any goroutine, and before Send has returned. Mostly
	// that is the goroutine that reads the socket: it must be quick, and must not wait
	// for another reply of the same connection.
	Resolve(res any, n uint64)
	// Cancelled returns an error if nobody waits for the result any more. The request is
	// then not sent, unless it is already written. It must not block.
	Cancelled() error
}

// FuncFuture is a Future made of a function. It is never cancelled.
type FuncFuture func(res any, n uint64)

// Resolve implements Future.
func (f FuncFuture) Resolve(res any, n uint64) { f(res, n) }

// Cancelled implements Future.
func (f FuncFuture) Cancelled() error { return nil }

// resolve resolves cb, if there is one.
func resolve(cb Future, res any, n uint64) {
	if cb != nil {
		cb.Resolve(res, n)
	}
}

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
	// master that is not connected, f gets a nil Sender and an error.
	EachShard(f func(Sender, error) bool)
	// Close ends the sender. Requests that are not written yet end as not sent, those in
	// flight as unknown.
	Close()
}

// Scanner iterates in batches.
type Scanner interface {
	// Next resolves cb with the next batch ([]string), with an error, or with ScanEOF at
	// the end. Only one Next may run at a time. After an error the next call repeats the
	// step that failed; after ScanEOF it gives ScanEOF again.
	Next(cb Future)
}

// ScanEOF is what a Scanner's future gets when the iteration is over. It is
// the end, not a failure.
var ScanEOF = errors.New("scan: end of iteration")

// ScanOpts says what to iterate over.
type ScanOpts struct {
	// Cmd is SCAN (the default), HSCAN, SSCAN, ZSCAN, or CLUSTERSCAN for a cluster of
	// servers that have it: see [Keys].
	Cmd string
	// Key is the key that HSCAN, SSCAN and ZSCAN walk; the others ignore it.
	Key string
	// Match is a glob pattern; empty matches all.
	Match string
	// Count is a hint of how many elements one step looks at; 0 leaves it to
	// the server (10, see the Redis documentation of SCAN).
	Count int
}

// Request returns the request for the step after cursor it; nil begins.
func (s ScanOpts) Request(it []byte) Request {
	if it == nil {
		it = []byte("0")
	}
	cmd, args := s.Cmd, make([]any, 0, 6)
	if cmd == "" {
		cmd = "SCAN"
	}
	if c := command.Lookup(cmd); !c.Named("SCAN") && !c.Named("CLUSTERSCAN") {
		args = append(args, s.Key)
	}
	args = append(args, it)
	if s.Match != "" {
		args = append(args, "MATCH", s.Match)
	}
	if s.Count > 0 {
		args = append(args, "COUNT", s.Count)
	}
	return Request{Cmd: cmd, Args: args}
}
