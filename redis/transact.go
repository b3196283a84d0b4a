package redis

import (
	"context"
	"errors"
	"fmt"
)

// ResultError is the first error among the results of several requests.
type ResultError struct {
	Index int   // of the request
	Err   error // see [Err]
}

// Error implements error.
func (e *ResultError) Error() string { return fmt.Sprintf("request %d: %v", e.Index, e.Err) }

// Unwrap returns the error of the request.
func (e *ResultError) Unwrap() error { return e.Err }

// FirstError returns a *[ResultError] if any of the results, as SendMany and SendTransaction
// return them, is an error, and nil otherwise. See [Collect] for all of them.
func FirstError(results []any) error {
	for i, res := range results {
		if err := Err(res); err != nil {
			return &ResultError{i, err}
		}
	}
	return nil
}

// Transact is [Sync.SendTransaction], and returns an error if any of the requests failed: with
// the results of all a *[ResultError], which says which was the first. The others have run
// then, so never send the transaction again after it. After any other error there are no
// results.
func (s Sync) Transact(reqs []Request) ([]any, error) {
	return transacted(s.SendTransaction(reqs))
}

// Transact is [Sync.Transact] with a context.
func (s SyncCtx) Transact(ctx context.Context, reqs []Request) ([]any, error) {
	return transacted(s.SendTransaction(ctx, reqs))
}

// Transact sends requests between MULTI and EXEC: see [Sync.Transact].
func (s *Session) Transact(reqs []Request) ([]any, error) {
	return transacted(s.SendTransaction(reqs))
}

func transacted(results []any, err error) ([]any, error) {
	if err != nil {
		return nil, Err(plain(err))
	}
	return results, FirstError(results)
}

// isOfResult reports whether err is about one of several requests, which have run.
func isOfResult(err error) bool {
	var one *ResultError
	return errors.As(err, &one)
}
