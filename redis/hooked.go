package redis

import (
	"context"
	"sync"

	"github.com/joomcode/redispipe/internal/wire"
)

// What the wrappers call, which know the context.

func (h *hooked) do(ctx context.Context, cmd string, args []any, t *target, seen *wire.Place) any {
	o := h.begin(ctx, Operation{OperationRequest, operationName(cmd, args), 1})
	var place wire.Place
	res := do(ctx, h.s, cmd, args, t, &place)
	o.end(o.completed(res, place))
	if seen != nil { // by another hook
		*seen = place
	}
	return res
}

func (h *hooked) doMany(ctx context.Context, reqs []Request, seen *wire.Place) []any {
	o := h.begin(ctx, operation(OperationMany, reqs))
	var place wire.Place
	results := sendMany(ctx, h.s, reqs, &place)
	o.end(o.completed(results, place))
	if seen != nil {
		*seen = place
	}
	return results
}

func (h *hooked) doTransaction(ctx context.Context, reqs []Request, seen *wire.Place) ([]any, error) {
	o := h.begin(ctx, operation(OperationTransaction, reqs))
	var place wire.Place
	results, err := sendTransaction(ctx, h.s, reqs, &place)
	var res any = results
	if err != nil {
		res = err
	}
	o.end(o.completed(res, place))
	if seen != nil {
		*seen = place
	}
	return results, err
}

// Send implements Sender.
func (h *hooked) Send(r Request, cb Future, n uint64) {
	op := Operation{OperationRequest, operationName(r.Cmd, r.Args), 1}
	h.s.Send(r, newHookedFuture(cb, h.begin(context.Background(), op)), n)
}

// SendMany implements Sender.
func (h *hooked) SendMany(reqs []Request, cb Future, start uint64) {
	if len(reqs) == 0 {
		return
	}
	f := &hookedMany{
		placed:  placed{wanted: true},
		cb:      cb,
		o:       h.begin(context.Background(), operation(OperationMany, reqs)),
		start:   start,
		results: newResults(len(reqs)),
	}
	h.s.SendMany(reqs, f, start)
}

// SendTransaction implements Sender.
func (h *hooked) SendTransaction(reqs []Request, cb Future, start uint64) {
	op := operation(OperationTransaction, reqs)
	h.s.SendTransaction(reqs, newHookedFuture(cb, h.begin(context.Background(), op)), start)
}

// EachShard implements Sender.
func (h *hooked) EachShard(f func(Sender, error) bool) {
	h.s.EachShard(func(shard Sender, err error) bool {
		if shard != nil {
			shard = WithHook(shard, h.hook)
		}
		return f(shard, err)
	})
}

// Close implements Sender.
func (h *hooked) Close() { h.s.Close() }

// Scanner implements Sender.
func (h *hooked) Scanner(opts ScanOpts) Scanner {
	return &hookedScanner{h: h, s: h.s.Scanner(opts), cmd: operationName(opts.Request(nil).Cmd, nil)}
}

// hookedScanner is a Scanner with a hook.
type hookedScanner struct {
	h   *hooked
	s   Scanner
	cmd string
}

// Next implements Scanner.
func (s *hookedScanner) Next(cb Future) {
	op := Operation{OperationScan, s.cmd, 1}
	s.s.Next(newHookedFuture(cb, s.h.begin(context.Background(), op)))
}

// wait is Next for a caller that waits.
func (s *hookedScanner) wait(ctx context.Context) ([]string, error) {
	o := s.h.begin(ctx, Operation{OperationScan, s.cmd, 1})
	var place wire.Place
	keys, err := scanNext(ctx, s.s, &place)
	var res any = keys
	if err != nil {
		res = err
	}
	o.end(o.completed(res, place))
	return keys, err
}

// hookedFuture is the future of one result. It is no wire.Caller: who reads replies
// for itself must not be held by another's future.
type hookedFuture struct {
	placed
	cb   Future
	o    observation
	once sync.Once // a Sender of a user's may resolve twice
}

func newHookedFuture(cb Future, o observation) *hookedFuture {
	return &hookedFuture{placed: placed{wanted: true}, cb: cb, o: o}
}

// Resolve implements Future.
func (f *hookedFuture) Resolve(res any, n uint64) {
	defer f.once.Do(func() { f.o.endAside(f.o.completed(res, f.last())) })
	resolve(f.cb, res, n)
}

// Cancelled implements Future.
func (f *hookedFuture) Cancelled() error { return cancelled(f.cb) }

// hookedMany is the future of several results.
type hookedMany struct {
	placed
	cb    Future
	o     observation
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
		defer func() { f.o.endAside(f.o.completed(f.all, f.last())) }()
	}
	resolve(f.cb, res, n)
}

// Cancelled implements Future.
func (f *hookedMany) Cancelled() error { return cancelled(f.cb) }

// cancelled asks cb, if there is one.
func cancelled(cb Future) error {
	if cb == nil {
		return nil
	}
	return cb.Cancelled()
}

var (
	_ wire.Observer = (*hookedFuture)(nil)
	_ wire.Observer = (*hookedMany)(nil)
)
