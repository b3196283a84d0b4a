package redis

import (
	"context"
	"sync"
)

// manyWaiter is the future of a caller that waits for several results.
type manyWaiter struct {
	done chan struct{} // closed when all is resolved

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
		close(m.done)
	}
}

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
	for {
		if ctx.Done() != nil && ctx.Err() != nil {
			results := make([]any, len(reqs))
			for i := range results {
				results[i] = withdrawn(ctx)
			}
			return results
		}
		m := &manyWaiter{
			done:     make(chan struct{}),
			results:  make([]any, len(reqs)),
			resolved: make([]bool, len(reqs)),
			left:     len(reqs),
		}
		s.SendMany(reqs, m, 0)
		select {
		case <-m.done:
		case <-ctx.Done():
			m.abandon(abandoned(ctx))
		}
		if !allWait(ctx, m.results) {
			return m.results
		}
	}
}

// allWait waits for room if all of the results are for want of it.
func allWait(ctx context.Context, results []any) bool {
	for _, res := range results {
		err := AsErrorx(res)
		if err == nil || !err.IsOfType(ErrQueueFull) {
			return false
		}
	}
	return awaitRoom(ctx, AsError(results[0]))
}

func sendTransaction(ctx context.Context, s Sender, reqs []Request) ([]any, error) {
	for {
		if ctx.Done() != nil && ctx.Err() != nil {
			return nil, traced(withdrawn(ctx)).(error)
		}
		w := newWaiter()
		s.SendTransaction(reqs, w, 0)
		res := w.result(ctx, nil)
		if err, failed := res.(error); !failed || !awaitRoom(ctx, err) {
			results, err := TransactionResponse(res)
			if err != nil {
				err = traced(err).(error)
			}
			return results, err
		}
	}
}
