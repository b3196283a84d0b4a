package redis

import (
	"context"

	"github.com/joomcode/redispipe/internal/errs"
)

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
		return nil, errs.Err(errs.Plain(err))
	}
	return results, FirstError(results)
}
