package lock

import (
	"context"

	"github.com/joomcode/redispipe/contrib/redisrecipes/internal/lease"
)

// Lock is a lock that was taken. It is safe for concurrent use.
type Lock struct {
	store *lease.Store
	key   string
	owner string
	token int64
	hold  *lease.Hold

	unlocking chan struct{} // holds one value while a call of Unlock owns the fields below
	released  bool          // a request of Unlock may have released the lock
	lost      bool          // the lock was no longer certain when Unlock was first called
}

// newLock returns a lock that was granted.
func newLock(ctx context.Context, a *attempts, grant lease.Grant) *Lock {
	l := &Lock{store: &a.locker.store, key: a.key, owner: a.owner, token: grant.Token, unlocking: make(chan struct{}, 1)}
	l.hold = lease.NewHold(context.WithoutCancel(ctx), l.store.TTL, grant.Sent, func(ctx context.Context) (bool, error) {
		return l.store.Renew(ctx, l.key, l.owner)
	})
	return l
}

// Token returns the fencing token: it is greater than the tokens of all earlier holders of the key. A
// store that refuses every token smaller than the greatest it has seen accepts no write from a holder
// that has lost its lock without noticing.
func (l *Lock) Token() int64 { return l.token }

// Context returns a context that ends before another process can get the lock, or with Unlock. It has the values of
// the context that was passed to Lock, but does not end with it. Its Err reads the clock, so it is right even if
// timers are late because the process was stopped.
func (l *Lock) Context() context.Context { return l.hold.Context() }

// Unlock ends the context and releases the lock. It repeats its request until the server has answered, ctx is done or
// TTL has passed. If ctx is done first, a goroutine continues until TTL has passed. It is safe to call Unlock again,
// even concurrently.
//
// A nil error means that no other process had the lock until now. [ErrLost] means that another process may have
// had it, and may have it now. After any other error the lock may not be released; if the error matches
// redis.ErrUnknown, it may be. In any case the lock ends within TTL.
func (l *Lock) Unlock(ctx context.Context) error {
	certain := l.hold.End(ErrUnlocked)
	select {
	case l.unlocking <- struct{}{}:
	default:
		select {
		case l.unlocking <- struct{}{}:
		case <-ctx.Done():
			return context.Cause(ctx) // the other call of Unlock continues
		}
	}
	defer func() { <-l.unlocking }()
	had, err := l.store.Release(ctx, l.key, l.owner)
	l.lost = l.lost || !certain || err == nil && !had && !l.released
	l.released = l.released || had || err != nil
	if l.lost {
		return ErrLost
	}
	return err
}
