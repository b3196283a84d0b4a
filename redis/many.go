package redis

import (
	"context"
	"slices"
	"sync"

	"github.com/joomcode/redispipe/internal/wire"
)

// manyWaiter is the future of a caller that waits for several results.
type manyWaiter struct {
	call

	mu        sync.Mutex // guards what follows
	results   []any
	resolved  []bool
	left      int
	abandoned error
}

// Resolve implements Future.
func (m *manyWaiter) Resolve(res any, n uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.abandoned != nil || m.resolved[n] {
		return
	}
	m.results[n], m.resolved[n] = res, true
	if m.left--; m.left == 0 {
		m.resolve()
	}
}

// NamesRequests implements wire.Namer: sendMany does it.
func (m *manyWaiter) NamesRequests() {}

// Cancelled implements Future.
func (m *manyWaiter) Cancelled() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.abandoned
}

// abandon gives err to all that is not resolved. Nothing changes the results
// after it.
func (m *manyWaiter) abandon(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.abandoned = err
	for i, resolved := range m.resolved {
		if !resolved {
			m.results[i] = err
		}
	}
}

func sendMany(ctx context.Context, s Sender, reqs []Request) []any {
	if len(reqs) == 0 {
		return nil
	}
	m := exchangeMany(ctx, s, reqs)
	for i, res := range m {
		if err, failed := res.(error); failed {
			m[i] = traced(withRequest(err, reqs[i].Cmd, reqs[i].Args))
		}
	}
	return m
}

func exchangeMany(ctx context.Context, s Sender, reqs []Request) []any {
	if ctx.Done() != nil && ctx.Err() != nil {
		return slices.Repeat([]any{withdrawn(ctx)}, len(reqs))
	}
	for {
		m := &manyWaiter{
			call:     newCall(),
			results:  make([]any, len(reqs)),
			resolved: make([]bool, len(reqs)),
			left:     len(reqs),
		}
		s.SendMany(reqs, m, 0)
		if m.wait(ctx, wire.Ticket{}) == endAbandoned {
			m.abandon(abandoned(ctx))
		}
		if !allFull(m.results) {
			return m.results
		}
		if again, err := awaitCapacity(ctx, AsError(m.results[0])); !again {
			if ctx.Err() != nil {
				return slices.Repeat([]any{err}, len(reqs))
			}
			return m.results
		}
	}
}

// allFull reports whether all of the results are for want of room.
func allFull(results []any) bool {
	for _, res := range results {
		err := AsErrorx(res)
		if err == nil || !err.IsOfType(ErrQueueFull) {
			return false
		}
	}
	return true
}

func sendTransaction(ctx context.Context, s Sender, reqs []Request) ([]any, error) {
	if ctx.Done() != nil && ctx.Err() != nil {
		return nil, traced(withdrawn(ctx)).(error)
	}
	for {
		w := newWaiter()
		s.SendTransaction(reqs, w, 0)
		res := w.result(ctx, nil)
		if err, failed := res.(error); failed {
			again, err := awaitCapacity(ctx, err)
			if again {
				continue
			}
			res = err
		}
		results, err := TransactionResponse(res)
		if err != nil {
			err = traced(err).(error)
		}
		return results, err
	}
}
