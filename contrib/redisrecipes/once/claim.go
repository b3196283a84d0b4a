package once

import (
	"context"
	"fmt"
	"time"

	"github.com/joomcode/redispipe/contrib/redisrecipes/internal/lease"
)

// claim is the attempt of one call to run its function.
type claim struct {
	runner  *Runner
	key     string
	owner   string
	unknown bool        // the server may have granted the claim
	value   []byte      // the result of another call
	hold    *lease.Hold // not nil if the claim is granted
}

// try asks until the outcome is known. It returns how long another caller still has the claim, or 0
// if it has set c.value or c.hold.
func (c *claim) try(ctx context.Context) (wait time.Duration, err error) {
	return lease.Settle(ctx, func(ctx context.Context) (time.Duration, error) {
		store := &c.runner.store
		grant, err := store.Acquire(ctx, c.key, c.owner)
		if err != nil {
			c.unknown = c.unknown || lease.Unknown(err)
			return 0, err
		}
		if grant.Token != 0 {
			c.hold = lease.NewHold(ctx, store.TTL, grant.Sent, func(ctx context.Context) (bool, error) {
				return store.Renew(ctx, c.key, c.owner)
			})
		}
		c.value = grant.Value
		return grant.Wait, nil
	})
}

// run runs the function, and leaves its result.
func (c *claim) run(ctx context.Context, ttl time.Duration, f func(context.Context) ([]byte, error)) (result []byte, err error) {
	store, done := &c.runner.store, false
	defer func() {
		c.hold.End(errDone)
		if !done {
			store.Abandon(ctx, c.key, c.owner) // because f has panicked
		}
	}()
	result, err = f(c.hold.Context())
	done = true
	if err != nil {
		c.hold.End(errDone)
		_, _ = store.Release(ctx, c.key, c.owner)
		return nil, err
	}
	timed, cancel := context.WithTimeout(context.WithoutCancel(ctx), store.TTL)
	defer cancel()
	left, failed := store.Leave(timed, c.key, c.owner, result, ttl) // until then the hold renews the claim
	if failed == nil && !left {
		failed = ErrLost
	}
	if failed != nil {
		return result, fmt.Errorf("%w: %w", ErrNotStored, failed)
	}
	return result, nil
}
