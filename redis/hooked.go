package redis

import (
	"context"
	"sync"

	"github.com/joomcode/redispipe/internal/wire"
)

// WithHook returns a Sender that sends through s, and calls hook around each operation:
// those of Sync, SyncCtx and ChanFutured, those of the methods of Sender, the steps of
// a Scanner, the calls of a Session and of Watch, and what is sent to the senders that
// EachShard passes. redispubsub.Opts has hooks of subscribers.
//
// A hook can harm only its own operation. If it panics, the panic is recovered, and the
// first one is printed by the standard logger. If it blocks, it delays its caller, or
// nobody if it is called for a Future. Operations that a hook sends with the context
// that it was given are not hooked. While 4096 calls of a hook run, further operations are
// sent without it, and calls of After for Futures wait.
//
// A request that a cluster retries or redirects is one operation.
func WithHook(s Sender, hook Hook) Sender {
	return &hooked{s: known(s), observer: observer{Hook: hook}}
}

// hooked is a Sender with a hook. The wrappers look for exactly this type, and then send
// to s as if there were no hook. They treat a decorator that embeds it like any user's
// own Sender.
type hooked struct {
	s Sender
	observer
}

// Unhook is for packages of this module: nobody else can call it. It returns the sender that h
// hooks, and a function that hooks another sender in the same way.
func (h *hooked) Unhook(wire.Ask) (inner Sender, hook func(Sender) Sender) {
	return h.s, func(s Sender) Sender { return WithHook(s, h.Hook) }
}

// Observe begins an operation of requests that are sent to the sender inside h. end tells the
// hook how the operation ended; call it once. It does not wait for the hook. Observe is for
// packages of this module: nobody else can call it.
func (h *hooked) Observe(_ wire.Ask, kind OperationKind, reqs []Request) (end func(res any, at wire.Place)) {
	o := begin(context.Background(), &h.observer, operation(kind, reqs))
	return o.endAside
}

// unhook returns the hooks of a sender, the outermost first, and what they wrap.
func unhook(s Sender) (hooks []*observer, inner Sender) {
	for {
		if d := delegateOf(s); d != nil {
			s = d
		}
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
	h.s.EachShard(func(shard Sender, err error) bool {
		if shard != nil {
			shard = WithHook(shard, h.Hook)
		}
		return f(shard, err)
	})
}

// Close implements Sender.
func (h *hooked) Close() { h.s.Close() }

// Scanner implements Sender.
func (h *hooked) Scanner(opts ScanOpts) Scanner {
	return &hookedScanner{by: &h.observer, s: h.s.Scanner(opts), cmd: operationName(opts.Request(nil).Cmd, nil)}
}

// hookedScanner is a Scanner with a hook.
type hookedScanner struct {
	by  *observer
	s   Scanner
	cmd string
}

// begin begins a step.
func (s *hookedScanner) begin(ctx context.Context) observation {
	return begin(ctx, s.by, Operation{OperationScan, s.cmd, 1})
}

// Next implements Scanner.
func (s *hookedScanner) Next(cb Future) {
	s.s.Next(newHookedFuture(cb, s.begin(context.Background())))
}

// hookedPart is what the futures of a hook have in common: the hook wants to know who has answered,
// as the future that the results are passed to may, and ends the operation with it.
type hookedPart struct {
	wire.Passed
	lastPlace
	o observation
}

func newHookedPart(cb Future, o observation) hookedPart {
	return hookedPart{Passed: wire.Passed{To: cb}, o: o}
}

// Caller is for wire.CallerOf. It returns nil: a caller that reads its own reply must not be blocked
// by somebody else's future.
func (*hookedPart) Caller() wire.Caller { return nil }

// Observes implements wire.Observer.
func (*hookedPart) Observes() bool { return true }

// AnsweredBy implements wire.Observer.
func (h *hookedPart) AnsweredBy(at wire.Place) {
	h.lastPlace.AnsweredBy(at)
	if h.Passed.Observes() {
		h.Passed.AnsweredBy(at)
	}
}

// end tells the hook of the result.
func (h *hookedPart) end(res any) { h.o.endAside(res, h.last()) }

// hookedFuture is the future of one result.
type hookedFuture struct {
	hookedPart
	once sync.Once // a user's own Sender may resolve twice
}

func newHookedFuture(cb Future, o observation) *hookedFuture {
	return &hookedFuture{hookedPart: newHookedPart(cb, o)}
}

// Resolve implements Future.
func (f *hookedFuture) Resolve(res any, n uint64) {
	defer f.once.Do(func() { f.end(res) })
	wire.Resolve(f.To, res, n)
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
	wire.Resolve(f.To, res, n)
}

var (
	_ wire.Observer = (*hookedFuture)(nil)
	_ wire.Observer = (*hookedMany)(nil)
)
