package aside

import (
	"context"
	"errors"
	"time"

	"github.com/joomcode/redispipe/contrib/redisrecipes/internal/lease"
	"github.com/joomcode/redispipe/redis"
)

// loading is the attempt of one caller to get an entry, or to load it.
type loading struct {
	cache   *Cache
	keys    keys
	owner   string
	oldest  time.Duration // a stored entry of this age or more is loaded again
	alone   bool          // the loader runs in the background, without a waiting caller
	unknown bool          // the server may have granted the lease
	entry   *entry        // the kept entry, if there is one
	hold    *lease.Hold   // not nil if this caller must load
}

// fetch loads an entry, or waits until another caller has loaded it.
func (c *Cache) fetch(ctx context.Context, k keys, load Load) ([]byte, error) {
	l := &loading{cache: c, keys: k, owner: lease.NewOwner(), oldest: c.opts.TTL}
	wait, err := l.try(ctx)
	if err == nil && wait > 0 {
		err = lease.Listen(ctx, c.client, k.entry, l.try)
	}
	switch {
	case err != nil:
		if l.unknown {
			l.leave(ctx, 0)
		}
		return nil, err
	case l.hold == nil:
		return l.entry.result()
	}
	return l.run(ctx, load)
}

// try asks until the outcome is known. It returns how long another caller still has the lease, or 0 if
// it has set l.entry or l.hold.
func (l *loading) try(ctx context.Context) (time.Duration, error) {
	return lease.Settle(ctx, func(ctx context.Context) (wait time.Duration, err error) {
		var answer []any
		sent := time.Now()
		err = claim.DoInto(ctx, l.cache.db, &answer, l.keys.list(),
			l.owner, l.cache.opts.Lease.Milliseconds(), l.oldest.Milliseconds())
		if err != nil {
			l.unknown = l.unknown || lease.Unknown(err)
			return 0, err
		}
		if len(answer) != 2 {
			return 0, lease.ErrAnswer
		}
		n, _ := answer[1].(int64)
		switch answer[0] {
		case int64(granted):
			l.hold = lease.NewHold(ctx, l.cache.opts.Lease, sent, l.renew)
		case int64(kept):
			raw, _ := answer[1].([]byte)
			l.entry, err = parse(raw)
		case int64(waiting):
			wait = max(1, time.Duration(n)*time.Millisecond)
			if n < 0 {
				err = lease.ErrAnswer
			}
		case int64(failing):
			l.entry = &entry{kind: failed}
		}
		return wait, err
	})
}

func (l *loading) renew(ctx context.Context) (bool, error) {
	return redis.As[bool](renew.Do(ctx, l.cache.db, l.keys.list(), l.owner, l.cache.opts.Lease.Milliseconds()))
}

// run loads the entry and stores it.
func (l *loading) run(ctx context.Context, load Load) ([]byte, error) {
	done := false
	defer func() {
		l.hold.End(errDone)
		if !done {
			l.leave(ctx, 0) // load has panicked
		}
	}()
	value, err := load(l.hold.Context())
	done = true
	switch {
	case err == nil:
		l.keep(ctx, found, value, l.cache.opts.TTL)
	case errors.Is(err, ErrNotFound):
		l.keep(ctx, notFound, nil, l.cache.opts.NegativeTTL)
	case ctx.Err() != nil && !l.alone:
		l.leave(ctx, 0)
	default:
		l.leave(ctx, l.cache.opts.RetryAfter)
	}
	return value, err
}

// storing bounds how long a caller waits until an entry is stored. After that, a goroutine stores it, until the
// lease has ended.
const storing = time.Second

// keep stores an entry, unless the lease has ended: another caller may then be loading the entry.
func (l *loading) keep(ctx context.Context, kind byte, value []byte, ttl time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, storing)
	defer cancel()
	_, _ = lease.Finish(ctx, l.cache.opts.Lease, l.cache.db, store, l.keys.list(), l.owner, string(kind), value, ttl.Milliseconds())
}

// leave ends the lease, so that others may load the entry after the given time. It does not wait.
func (l *loading) leave(ctx context.Context, after time.Duration) {
	lease.Abandon(ctx, l.cache.opts.Lease, l.cache.db, release, l.keys.list(), l.owner, after.Milliseconds())
}
