// Package lock has locks that are shared by all processes of a Redis.
//
//	locker, err := lock.New(client, lock.Opts{})
//	…
//	l, err := locker.Lock(ctx, "report")
//	if err != nil {
//		return err
//	}
//	defer l.Unlock(ctx)
//	write(l.Context(), l.Token()) // a store should refuse a token smaller than the largest it has seen
//
// The guide is docs/recipes.md.
package lock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/joomcode/redispipe/contrib/redisrecipes/internal/lease"
)

var (
	// ErrOpts is returned by [New] for invalid options.
	ErrOpts = errors.New("lock: invalid options")
	// ErrKey: the key is empty. Nothing was sent.
	ErrKey = errors.New("lock: the key is empty")
	// ErrHeld is returned by [Locker.TryLock] if another owner holds the lock.
	ErrHeld = errors.New("lock: another caller holds it")
	// ErrLost is the cause with which [Lock.Context] ends when another process may get the lock.
	// [Lock.Unlock] returns it if the lock was no longer certain when Unlock was called: the work may have
	// overlapped with that of another process.
	ErrLost = lease.ErrLost
	// ErrUnlocked is the cause with which [Lock.Context] ends in [Lock.Unlock].
	ErrUnlocked = errors.New("lock: unlocked")
)

// keepToken is how long the token of a released lock is kept, so that the next token is greater. After that time,
// the clock of the server ensures that.
const keepToken = 24 * time.Hour

// Client is a *redispipe.Client.
type Client = lease.Client

// Opts are the options of a [Locker]. The zero value is fit for production.
type Opts struct {
	// Prefix is put before each key. Default "lock:".
	Prefix string
	// TTL is how long a lock outlives a process that dies. A lock is renewed after each third of TTL, so that
	// it can be held for any time. From 100 ms to an hour. Default 10 s.
	TTL time.Duration
	// Fair makes callers of Lock wait in a queue at the server, which the fair Lockers of all processes share. They
	// get the lock of a key in the order in which their requests have reached the server, and before all callers that
	// are not fair. A process that dies while it waits delays the callers behind it by at most TTL and a third of TTL.
	Fair bool
}

// Locker takes locks. It is safe for concurrent use.
type Locker struct {
	store  lease.Store
	prefix string
	fair   bool
	turns  lease.Turns // not used if fair
}

// New returns a locker. It returns an [ErrOpts] if the options are invalid.
func New(db Client, opts Opts) (*Locker, error) {
	if opts.Prefix == "" {
		opts.Prefix = "lock:"
	}
	if opts.TTL == 0 {
		opts.TTL = 10 * time.Second
	}
	if opts.TTL < 100*time.Millisecond || opts.TTL > time.Hour {
		return nil, fmt.Errorf("%w: TTL is %v", ErrOpts, opts.TTL)
	}
	if !lease.Usable(db) {
		return nil, fmt.Errorf("%w: the client is nil, or was not opened with redispipe.Open", ErrOpts)
	}
	return &Locker{store: lease.Store{DB: db, TTL: opts.TTL, Keep: keepToken}, prefix: opts.Prefix, fair: opts.Fair}, nil
}

// Lock waits until it has the lock of a key, or ctx is done. It asks for the lock when the holder has
// unlocked it, or when the lock would expire. While the server can't be reached, it asks again and again.
// Goroutines of this Locker that wait for the same key get it in order. There is no order between
// processes, and a caller that finds the lock free may overtake those that wait, unless the Locker is fair: see
// [Opts.Fair].
//
// Lock returns an error if ctx ends, if the server refuses the request, or if the client is closed. The caller then
// does not hold the lock. If the server may have granted it, it is released in the background, and expires after TTL
// at the latest.
func (l *Locker) Lock(ctx context.Context, key string) (*Lock, error) {
	if key == "" {
		return nil, ErrKey
	}
	key = l.prefix + key
	a := &attempts{locker: l, key: key, owner: lease.NewOwner(), enter: l.fair}
	wait, err := a.try(ctx)
	switch {
	case err != nil || wait <= 0:
	case l.fair:
		err = lease.Listen(ctx, l.store.DB, lease.Place(key, a.owner), a.try)
	default:
		err = l.turns.Wait(ctx, l.store.DB, key, a.try)
	}
	if err != nil {
		a.abandon(ctx)
		return nil, err
	}
	return a.lock, nil
}

// TryLock takes the lock of a key if it is free and nobody waits in its queue. Otherwise it returns an
// [ErrHeld]. For other errors see [Locker.Lock]. If the server can't be reached,
// TryLock returns an error and does not wait.
func (l *Locker) TryLock(ctx context.Context, key string) (*Lock, error) {
	if key == "" {
		return nil, ErrKey
	}
	a := &attempts{locker: l, key: l.prefix + key, owner: lease.NewOwner()}
	wait, err := a.once(ctx)
	if err == nil && wait > 0 {
		return nil, ErrHeld
	}
	if err != nil {
		a.abandon(ctx)
		return nil, err
	}
	return a.lock, nil
}

// attempts makes the attempts of one call to get a lock, all under the name of the same owner.
type attempts struct {
	locker *Locker
	key    string
	owner  string
	enter  bool // wait in the queue of the key
	leave  bool // the server may have granted the lock, or a place in the queue
	lock   *Lock
}

// once asks for the lock. It returns how long to wait before asking again, or 0 if it has set a.lock.
func (a *attempts) once(ctx context.Context) (time.Duration, error) {
	store := &a.locker.store
	ask := store.Acquire
	if a.enter {
		ask = store.Enter
	}
	grant, err := ask(ctx, a.key, a.owner)
	switch {
	case err != nil:
		a.leave = a.leave || lease.Unknown(err)
		return 0, err
	case grant.Wait > 0 && a.enter:
		a.leave = true
		return min(grant.Wait, store.TTL/3), nil // asking again prolongs the place
	case grant.Wait > 0:
		return grant.Wait, nil
	case grant.Token == 0:
		return 0, lease.ErrAnswer
	}
	a.lock = newLock(ctx, a, grant)
	return 0, nil
}

// try calls once, again and again while the server can't be reached.
func (a *attempts) try(ctx context.Context) (wait time.Duration, err error) {
	return lease.Settle(ctx, a.once)
}

// abandon releases the lock, or leaves the queue, if the server may have granted either.
func (a *attempts) abandon(ctx context.Context) {
	if a.leave {
		a.locker.store.Abandon(ctx, a.key, a.owner)
	}
}
