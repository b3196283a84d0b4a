package redis

import (
	"context"
	"sync"
	"time"

	"github.com/joomcode/redispipe/internal/send"
)

// WithHook returns a Sender that sends through s, and calls hook around each operation: the calls
// of Sync, SyncCtx and ChanFutured, of the methods of Sender, of a Session and of Watch, the steps
// of a Scanner, and the operations of the senders that EachShard passes. For subscribers, set Hooks
// in redispubsub.Opts.
//
// A hook can harm only its own operation. If it panics, WithHook recovers the panic, and prints the
// first one with the standard logger. If it blocks, it delays only the caller of the operation, and
// for a Future nobody. If a hook sends requests with the context that it was given, no hook is
// called for them. While 4096 calls of a hook are running, further operations are sent without
// calling the hook, and calls of After for Futures wait.
//
// A request that a cluster retries or redirects is one operation. If [WithRetry] wraps the Sender
// with the hook, as in a client of redispipe.Open, each attempt is an operation of its own.
//
// If hook is nil, WithHook returns s.
func WithHook(s Sender, hook Hook) Sender {
	if hook == nil {
		return known(s)
	}
	return &hooked{s: known(s), observer: observer{Hook: hook}}
}

// hooked is a Sender with a hook. The wrappers recognize this type, call the hook, and send to s as
// if there were no hook. A decorator that embeds a hooked is a different type, so the wrappers
// treat it like any user's Sender.
type hooked struct {
	s Sender
	observer
}

// Unhook is for packages of this module. It returns the sender that h hooks, and a function that hooks
// another sender in the same way.
func (h *hooked) Unhook() (inner Sender, hook func(Sender) Sender) {
	return h.s, func(s Sender) Sender { return WithHook(s, h.Hook) }
}

// Observe begins an operation of requests that are sent to the sender inside h. end tells the hook
// how the operation ended. Call end once; it does not wait for the hook. Observe is for packages of
// this module.
func (h *hooked) Observe(kind OperationKind, reqs []Request) (end func(res any, at send.Server)) {
	o := begin(context.Background(), &h.observer, operation(kind, reqs))
	return o.endLater
}

// Around calls Before of the hook, then f, then After. f returns the Completion for After, without
// the Duration. Around is for operations that are not requests to a Sender, such as those of
// subscriptions.
func (h *hooked) Around(ctx context.Context, op Operation, f func() Completion) Completion {
	o := begin(ctx, &h.observer, op)
	end := f()
	end.Duration = time.Since(o.start)
	o.after(end)
	return end
}

// unhook returns the hooks of a sender, the outermost first, and the sender that they wrap, without
// its retries.
func unhook(s Sender) (hooks []*observer, inner Sender) {
	for {
		_, s = unretried(s)
		h, ok := s.(*hooked)
		if !ok {
			return hooks, s
		}
		hooks, s = append(hooks, &h.observer), h.s
	}
}

// Send implements Sender.
func (h *hooked) Send(r Request, cb Future, n uint64) {
	op := requestOperation(r.Cmd, r.Args)
	h.s.Send(r, newHookedFuture(cb, begin(context.Background(), &h.observer, op)), n)
}

// SendMany implements Sender.
func (h *hooked) SendMany(reqs []Request, cb Future, start uint64) {
	if len(reqs) == 0 {
		return
	}
	o := begin(context.Background(), &h.observer, operation(OperationMany, reqs))
	h.s.SendMany(reqs, &hookedMany{hookedPart: newHookedPart(cb, o), start: start, results: newResults(len(reqs))}, start)
}

// SendTransaction implements Sender.
func (h *hooked) SendTransaction(reqs []Request, cb Future, start uint64) {
	op := operation(OperationTransaction, reqs)
	h.s.SendTransaction(reqs, newHookedFuture(cb, begin(context.Background(), &h.observer, op)), start)
}

// EachShard implements Sender.
func (h *hooked) EachShard(f func(Sender, error) bool) {
	eachShard(h.s, func(shard Sender) Sender { return WithHook(shard, h.Hook) }, f)
}

// Close implements Sender.
func (h *hooked) Close() { h.s.Close() }

// Scanner implements Sender.
func (h *hooked) Scanner(opts ScanOpts) Scanner {
	name, _ := operationNames(opts.Request(nil).Cmd, nil)
	return &hookedScanner{by: &h.observer, s: h.s.Scanner(opts), cmd: name}
}

// hookedScanner is a Scanner with a hook.
type hookedScanner struct {
	by  *observer
	s   Scanner
	cmd string
}

// begin begins a step.
func (s *hookedScanner) begin(ctx context.Context) observation {
	return begin(ctx, s.by, Operation{Kind: OperationScan, Command: s.cmd, Requests: 1})
}

// Next implements Scanner.
func (s *hookedScanner) Next(cb Future) {
	s.s.Next(newHookedFuture(cb, s.begin(context.Background())))
}

// hookedPart is the common part of the futures of a hook. It records which server answered, for the
// hook and for the wrapped future, and ends the operation.
type hookedPart struct {
	send.Forward
	lastPlace
	o observation
}

func newHookedPart(cb Future, o observation) hookedPart {
	return hookedPart{Forward: send.Forward{To: cb}, o: o}
}

// Caller is called by send.CallerOf. It returns nil: another caller's future must not block a
// caller that reads its own reply.
func (*hookedPart) Caller() send.Caller { return nil }

// Observes implements send.Observer.
func (*hookedPart) Observes() bool { return true }

// AnsweredBy implements send.Observer.
func (h *hookedPart) AnsweredBy(at send.Server) {
	h.lastPlace.AnsweredBy(at)
	if h.Forward.Observes() {
		h.Forward.AnsweredBy(at)
	}
}

// end tells the hook the result and the server that answered.
func (h *hookedPart) end(res any) { h.o.endLater(res, h.last()) }

// hookedFuture is the future of one result.
type hookedFuture struct {
	hookedPart
	once sync.Once // a user's Sender may resolve twice
}

func newHookedFuture(cb Future, o observation) *hookedFuture {
	return &hookedFuture{hookedPart: newHookedPart(cb, o)}
}

// Resolve implements Future.
func (f *hookedFuture) Resolve(res any, n uint64) {
	defer f.once.Do(func() { f.end(res) })
	send.Resolve(f.To, res, n)
}

// hookedMany is the future of several results.
type hookedMany struct {
	hookedPart
	start uint64

	resolving sync.Mutex // guards results
	results
}

// Resolve implements Future.
func (f *hookedMany) Resolve(res any, n uint64) {
	f.resolving.Lock()
	last := f.set(res, n-f.start)
	f.resolving.Unlock()
	if last {
		defer func() { f.end(f.all) }()
	}
	send.Resolve(f.To, res, n)
}

var (
	_ send.Observer = (*hookedFuture)(nil)
	_ send.Observer = (*hookedMany)(nil)
)
