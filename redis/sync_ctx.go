package redis

import "context"

// SyncCtx wraps a Sender so that a call waits for its result, or for the end
// of its context. It is safe for use by many goroutines.
//
// When the context ends first, the error is of type ErrRequestCancelled: with
// ErrTraitNotSent the request was taken back unsent, without it the request
// may have run. [SafeToRetry] tells them apart, and [DelayOf] says where the time went. A
// nil context is an ErrContextIsNil, and nothing is sent.
type SyncCtx struct {
	S Sender
}

// Do sends a command and returns its result, which is an *errorx.Error if the
// request failed: see AsError. Arguments are not kept.
func (s SyncCtx) Do(ctx context.Context, cmd string, args ...any) any {
	if ctx == nil {
		return errContextIsNil()
	}
	return do(ctx, s.S, cmd, args, nil, nil)
}

// Send sends a request and returns its result.
func (s SyncCtx) Send(ctx context.Context, r Request) any {
	if ctx == nil {
		return errContextIsNil()
	}
	return do(ctx, s.S, r.Cmd, r.Args, nil, nil)
}

// SendMany sends requests at once and returns their results in order. When the
// context ends, those not yet answered get an ErrRequestCancelled each.
func (s SyncCtx) SendMany(ctx context.Context, reqs []Request) []any {
	if ctx == nil {
		results := make([]any, len(reqs))
		for i := range results {
			results[i] = errContextIsNil()
		}
		return results
	}
	return sendMany(ctx, s.S, reqs, nil)
}

// SendTransaction is Sync.SendTransaction with a context. When the context
// ends, the transaction may have run (whole) or not.
func (s SyncCtx) SendTransaction(ctx context.Context, reqs []Request) ([]any, error) {
	if ctx == nil {
		return nil, errContextIsNil()
	}
	return sendTransaction(ctx, s.S, reqs, nil)
}

// Scanner returns an iterator that ends with the context.
func (s SyncCtx) Scanner(ctx context.Context, opts ScanOpts) SyncCtxIterator {
	return SyncCtxIterator{ctx: ctx, s: s.S.Scanner(opts)}
}

// SyncCtxIterator waits for the batches of a Scanner, or for the end of a context.
type SyncCtxIterator struct {
	ctx context.Context
	s   Scanner
}

// Next returns the next batch, which may be empty; ScanEOF as the error tells
// the end. After an ErrRequestCancelled the iterator is of no more use.
func (s SyncCtxIterator) Next() ([]string, error) {
	if s.ctx == nil {
		return nil, errContextIsNil()
	}
	return scanNext(s.ctx, s.s, nil)
}

func errContextIsNil() error { return ErrContextIsNil.New("context is nil") }
