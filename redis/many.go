package redis

import (
	"context"
	"slices"
	"sync"

	"github.com/joomcode/redispipe/internal/command"
	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/send"
)

// manyWaiter is the future of a caller that waits for several results. It is used only once, so
// senders may keep it as long as they like.
type manyWaiter struct {
	call
	queued
	moves     queued // records the ticket that lets all reads without a result leave their servers
	observed  bool   // as in send.Request
	lastPlace        // if observed is set

	mu sync.Mutex // guards the fields below
	results
	abandoned error
}

// Resolve implements Future.
func (m *manyWaiter) Resolve(res any, n uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.abandoned == nil && m.set(res, n) {
		m.resolve()
	}
}

// Queued implements send.Queuer.
func (m *manyWaiter) Queued(t send.Ticket) {
	if t.Moves {
		m.moves.Queued(t)
	} else {
		m.queued.Queued(t)
	}
}

// Observes implements send.Observer.
func (m *manyWaiter) Observes() bool { return m.observed }

// NamesRequests implements send.Namer: sendMany adds the requests to the errors.
func (m *manyWaiter) NamesRequests() {}

// Cancelled implements Future.
func (m *manyWaiter) Cancelled() error {
	if m.state.Load() == callAbandoned {
		return errs.ErrRequestCancelled.New("the caller's context ended")
	}
	return nil
}

// abandon sets err as the result of every unresolved request. Nothing changes
// the results afterwards.
func (m *manyWaiter) abandon(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.abandoned = err
	for i, resolved := range m.resolved {
		if !resolved {
			m.all[i] = err
		}
	}
}

// readsLeave lets a call leave stalled servers only if all requests without a result are reads. The sender may have
// passed the result of a write to a wrapper, which sends the write again before the caller has a result.
type readsLeave struct {
	send.Staller
	m    *manyWaiter
	reqs []Request
}

// Leave implements send.Staller.
func (r readsLeave) Leave() bool { return r.m.missesOnlyReads(r.reqs) && r.Staller.Leave() }

// Withdraw implements send.Withdrawer.
func (readsLeave) Withdraw(uint64) bool { return false }

// missesOnlyReads reports whether all requests without a result are reads.
func (m *manyWaiter) missesOnlyReads(reqs []Request) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, resolved := range m.resolved {
		if resolved {
			continue
		}
		if call := command.Of(reqs[i].Cmd, reqs[i].Args); !call.Reads() {
			return false
		}
	}
	return true
}

func sendMany(ctx context.Context, s Sender, reqs []Request, seen *send.Server) []any {
	if len(reqs) == 0 {
		return nil
	}
	if d := delegateOf(s); d != nil {
		s = d
	}
	if r, ok := s.(*retrying); ok {
		return r.sendMany(ctx, reqs, seen)
	}
	if h, ok := s.(*hooked); ok {
		o := begin(ctx, &h.observer, operation(OperationMany, reqs))
		var place send.Server
		results := sendMany(ctx, h.s, reqs, &place)
		o.end(results, place, seen)
		return results
	}
	return withRequests(exchangeMany(ctx, known(s), reqs, seen), reqs)
}

// withRequests adds to each error among the results the request that it belongs to.
func withRequests(results []any, reqs []Request) []any {
	for i, res := range results {
		if err, failed := res.(error); failed {
			results[i] = traced(withRequest(err, reqs[i].Cmd, reqs[i].Args))
		}
	}
	return results
}

// exchangeMany sends requests and returns their results. If a full queue refuses some, it sends them
// again when there is room. It sends reads that have left stalled servers again at once.
func exchangeMany(ctx context.Context, s Sender, reqs []Request, seen *send.Server) []any {
	if ctx.Done() != nil && ctx.Err() != nil {
		return slices.Repeat([]any{errs.Withdrawn(ctx)}, len(reqs))
	}
	results, left := exchangeOnce(ctx, s, reqs, seen)
	var moved []int
	for {
		again := indexesOf(results, isStalled)
		moved = append(moved, again...)
		if len(again) == 0 {
			if again = indexesOf(results, isFull); len(again) == 0 || !awaitRoom(ctx, results, again, left) {
				break
			}
		}
		part := make([]Request, len(again))
		for i, at := range again {
			part[i] = reqs[at]
		}
		var got []any
		got, left = exchangeOnce(ctx, s, part, seen)
		for i, at := range again {
			results[at] = got[i]
		}
	}
	for _, at := range moved {
		if err := errs.AsErrorx(results[at]); err != nil {
			var attempts errs.Attempts
			attempts.Failed(errStalled)
			results[at] = attempts.Result(err)
		}
	}
	return results
}

// awaitRoom waits until a queue has room. full has the indexes of requests that the queue has refused.
// left is the result of exchangeOnce. If awaitRoom returns false, don't send the requests again. Then
// results has their final errors.
func awaitRoom(ctx context.Context, results []any, full []int, left bool) bool {
	var again bool
	var err error
	if left {
		err = errWithdrawnFull(ctx, errs.AsErrorx(results[full[0]]))
	} else {
		again, err = awaitCapacity(ctx, errs.Of(results[full[0]]))
	}
	if !again && !errs.AsErrorx(err).IsOfType(errs.ErrQueueFull) { // the context has ended
		for _, at := range full {
			results[at] = err
		}
	}
	return again
}

// exchangeOnce sends requests and returns their results. left is set if ctx ended before all
// results arrived. If the server stalled before that, the missing results are errStalled.
func exchangeOnce(ctx context.Context, s Sender, reqs []Request, seen *send.Server) (results []any, left bool) {
	m := &manyWaiter{call: newCall(), results: newResults(len(reqs)), observed: seen != nil}
	m.of(s)
	m.send(func() { s.SendMany(reqs, m, 0) })
	t := m.moves.lastQueued(0, send.Ticket{})
	if t.Moves {
		t.Queue = readsLeave{t.Queue.(send.Staller), m, reqs}
	}
	r, ended := m.wait(ctx, &t)
	if ended && m.leave(send.Ticket{}, r) == endAbandoned {
		err := errStalled
		if left = ctx.Err() != nil; left {
			err = withDelay(errs.Abandoned(ctx), m.lastQueued(0, send.Ticket{}))
		}
		m.abandon(err)
	}
	if seen != nil {
		*seen = m.last()
	}
	return m.all, left
}

// indexesOf returns the indexes of the results that are errors of some kind.
func indexesOf(results []any, kind func(error) bool) (indexes []int) {
	for i, res := range results {
		if err, failed := res.(error); failed && kind(err) {
			indexes = append(indexes, i)
		}
	}
	return indexes
}

// isFull reports whether err means that a full queue has refused the request. In a cluster, one shard's
// queue may refuse requests while the requests to other shards are sent.
func isFull(err error) bool { return errs.AsErrorx(err).IsOfType(errs.ErrQueueFull) }

// isStalled reports whether err means that the request has left a stalled server.
func isStalled(err error) bool { return err == error(errStalled) }

func sendTransaction(ctx context.Context, s Sender, reqs []Request, seen *send.Server) ([]any, error) {
	if d := delegateOf(s); d != nil {
		s = d
	}
	if r, ok := s.(*retrying); ok {
		return r.sendTransaction(ctx, reqs, seen)
	}
	if h, ok := s.(*hooked); ok {
		o := begin(ctx, &h.observer, operation(OperationTransaction, reqs))
		var place send.Server
		results, err := sendTransaction(ctx, h.s, reqs, &place)
		o.end(resultOf(results, err), place, seen)
		return results, err
	}
	if ctx.Done() != nil && ctx.Err() != nil {
		return nil, errs.AsError(traced(errs.Withdrawn(ctx)))
	}
	s = known(s)
	for {
		w := newWaiter(s)
		w.observed = seen != nil
		w.send(func() { s.SendTransaction(reqs, w, 0) })
		res := w.result(ctx, send.Ticket{}, nil, seen)
		if err, failed := res.(error); failed {
			again, err := awaitCapacity(ctx, err)
			if again {
				continue
			}
			res = err
		}
		results, err := TransactionResponse(res)
		if err != nil {
			err = errs.AsError(traced(err))
		}
		return results, err
	}
}

// TransactionResponse splits the result of SendTransaction into the results of its
// requests, or returns the error that left it without results.
func TransactionResponse(res any) ([]any, error) {
	switch v := res.(type) {
	case []any:
		return v, nil
	case nil:
		return nil, errs.ErrExecEmpty.New("EXEC returned null: a watched key was changed")
	case error:
		return nil, errs.AsError(v)
	}
	return nil, errs.ErrResponseUnexpected.New("EXEC returned a %T", res).WithProperty(errs.EKResponse, res)
}

// ExecResult returns the result of a transaction, given the replies to MULTI and EXEC and the
// number of its requests. If the server refused MULTI, the requests have run one by one, whatever
// the reply to EXEC is. ExecResult is for packages redisconn and redisdumb.
func ExecResult(multi, exec any, requests int) any {
	if refused := errs.AsErrorx(multi); refused != nil {
		err := errs.ErrTransaction.Wrap(refused, "MULTI was refused, so the requests after it may have run one by one").
			WithProperty(errs.EKRequest, Req("MULTI"))
		if addr, known := refused.Property(errs.EKAddress); known {
			err = err.WithProperty(errs.EKAddress, addr)
		}
		return err
	}
	if multi != any("OK") {
		return errs.ErrTransaction.New("MULTI was answered with a %T instead of OK", multi).WithProperty(errs.EKRequest, Req("MULTI"))
	}
	if results, ok := exec.([]any); ok && len(results) != requests {
		return errs.ErrTransaction.New("EXEC returned %d results for %d requests", len(results), requests).WithProperty(errs.EKRequest, Req("EXEC"))
	}
	return exec
}

// transacted turns the results of SendTransaction into those of Transact.
func transacted(results []any, err error) ([]any, error) {
	if err != nil {
		return nil, errs.Err(errs.Plain(err))
	}
	return results, FirstError(results)
}
