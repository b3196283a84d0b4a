package redis

import (
	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/send"
)

// Future takes the result of a request.
type Future interface {
	// Resolve is called once, with the result and the n that was passed with the request. It may be
	// called in any goroutine, and before Send has returned. Usually the goroutine that reads the
	// socket calls it, so it must return quickly, and must not wait for another reply of the same
	// connection.
	Resolve(res any, n uint64)
	// Cancelled returns an error if nobody waits for the result any more. Then the request is not
	// sent. Cancelled is called when the request is sent, and once more before a goroutine of the
	// connection writes it. It must not block.
	Cancelled() error
}

// FuncFuture is a Future made of a function. It is never cancelled.
type FuncFuture func(res any, n uint64)

// Resolve implements Future. A nil f drops the result.
func (f FuncFuture) Resolve(res any, n uint64) {
	if f != nil {
		f(res, n)
	}
}

// Cancelled implements Future.
func (f FuncFuture) Cancelled() error { return nil }

// Sender sends requests whose futures are resolved later. Connections, clusters and
// wrappers of them are Senders. Implementations are safe for concurrent use
// unless they document otherwise.
type Sender interface {
	// Send sends a request. It resolves cb once, with n, perhaps before Send returns. Send never
	// blocks, and the caller may change the arguments as soon as it returns. If cb is nil, the
	// result is dropped.
	Send(r Request, cb Future, n uint64)
	// SendMany sends several requests. It resolves cb once for each of them, with start+i for the
	// request with index i.
	SendMany(r []Request, cb Future, start uint64)
	// SendTransaction sends requests between MULTI and EXEC. It resolves cb once, with start and
	// the answer to EXEC. See [TransactionResponse].
	SendTransaction(r []Request, cb Future, start uint64)
	// Scanner returns an iterator over keys, or over the elements of a key.
	Scanner(opts ScanOpts) Scanner
	// EachShard calls f with a Sender for each master, until f returns false. For a
	// master that is not connected, f gets a nil Sender and an error.
	EachShard(f func(Sender, error) bool)
	// Close closes the sender. Requests that were not written yet fail as not sent, requests in
	// flight as unknown.
	Close()
}

// nobody takes the place of a nil Sender, as in the zero value of [SyncCtx]. It sends nothing.
type nobody struct{}

// known returns s, or nobody if s is nil or a nil pointer to a type of this module. For example,
// redispipe.Client.Cluster returns such a pointer for a client of one server.
func known(s Sender) Sender {
	if inside, _ := send.Inside(s); inside == nil {
		return nobody{}
	}
	return s
}

// Send implements Sender.
func (nobody) Send(_ Request, cb Future, n uint64) { send.Resolve(cb, errs.NoSender(), n) }

// SendMany implements Sender.
func (nobody) SendMany(reqs []Request, cb Future, start uint64) {
	send.Each(0, len(reqs), func(i int) { send.Resolve(cb, errs.NoSender(), start+uint64(i)) })
}

// SendTransaction implements Sender.
func (nobody) SendTransaction(_ []Request, cb Future, start uint64) {
	send.Resolve(cb, errs.NoSender(), start)
}

// Scanner implements Sender.
func (n nobody) Scanner(ScanOpts) Scanner { return n }

// Next implements Scanner.
func (nobody) Next(cb Future) { send.Resolve(cb, errs.NoSender(), 0) }

// EachShard implements Sender.
func (nobody) EachShard(f func(Sender, error) bool) {
	if f != nil {
		f(nil, errs.NoSender())
	}
}

// Close implements Sender.
func (nobody) Close() {}

// opened is a Sender, together with the internal interfaces of what is inside it.
type opened struct {
	Sender
	// backend is nil for a user's own Sender, even if that embeds a connection: then its own
	// methods must be called.
	backend send.Backend[Future]
	memory  send.Memory[Future] // the backend, if it answers some requests from its memory
	// delegate is the sender inside if this one only delegates, like a redispipe.Client. It may have
	// hooks, so the wrappers send to it as if their user had passed it to them.
	delegate Sender
}

func open(s Sender) (to opened) {
	to.Sender = s
	inside, known := send.Inside(s)
	if to.backend, _ = inside.(send.Backend[Future]); to.backend != nil {
		to.memory, _ = inside.(send.Memory[Future])
	} else if known {
		to.delegate, _ = inside.(Sender)
	}
	return to
}

// delegateOf returns the sender inside s if s only delegates, and otherwise nil.
func delegateOf(s Sender) Sender { return open(s).delegate }

// CollectTrace makes Sync and SyncCtx add the caller's stack trace to errors, which takes
// some microseconds for each error. Set it before the first request. Default false.
var CollectTrace = false

// traced adds the caller's stack trace to errors if CollectTrace is set.
func traced(res any) any {
	if err, ok := res.(error); ok && CollectTrace {
		return errorx.EnsureStackTrace(errs.Plain(err))
	}
	return res
}
