// Package once runs a function once for each key among all processes that share a Redis, and returns
// its result to repeated calls. Use it for handlers of messages, payments and webhooks that may arrive
// twice.
//
//	runner, err := once.New(client, once.Opts{})
//	…
//	receipt, err := runner.Do(ctx, "payment:42", 24*time.Hour, func(ctx context.Context) ([]byte, error) {
//		return pay(ctx, 42)
//	})
//
// The guide is docs/recipes.md.
package once

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/joomcode/redispipe/contrib/redisrecipes/internal/lease"
)

var (
	// ErrOpts is returned by [New] for invalid options.
	ErrOpts = errors.New("once: invalid options")
	// ErrCall: the key is empty, there is no function, or the time to keep the result is not between 1 ms and 366
	// days. Nothing was sent.
	ErrCall = errors.New("once: invalid call")
	// ErrNotStored: the function has run, and Do returns its result, but the result may not be stored, so a
	// repeat may run the function again. It wraps the reason, which matches redis.ErrUnknown if the
	// result may be stored.
	ErrNotStored = errors.New("once: the result may not be stored")
	// ErrLost is the cause with which the function's context ends when another process may run the
	// function. If an [ErrNotStored] wraps it, another process may have begun to run the function.
	ErrLost = lease.ErrLost

	errDone = errors.New("once: the function has returned")
)

// longest bounds how long results are kept.
const longest = 366 * 24 * time.Hour

// Client is a *redispipe.Client.
type Client = lease.Client

// Opts are the options of a [Runner]. The zero value is fit for production.
type Opts struct {
	// Prefix is put before each key. Default "once:".
	Prefix string
	// Lease is how long others wait for a process that has died in the function. While the function
	// runs, the lease is renewed. From 100 ms to an hour. Default 10 s.
	Lease time.Duration
}

// Runner runs functions. It is safe for concurrent use.
type Runner struct {
	store  lease.Store
	prefix string
	turns  lease.Turns
}

// New returns a runner. It returns an [ErrOpts] if the options are invalid.
func New(db Client, opts Opts) (*Runner, error) {
	if opts.Prefix == "" {
		opts.Prefix = "once:"
	}
	if opts.Lease == 0 {
		opts.Lease = 10 * time.Second
	}
	if opts.Lease < 100*time.Millisecond || opts.Lease > time.Hour {
		return nil, fmt.Errorf("%w: Lease is %v", ErrOpts, opts.Lease)
	}
	if !lease.Usable(db) {
		return nil, fmt.Errorf("%w: the client is nil, or was not opened with redispipe.Open", ErrOpts)
	}
	return &Runner{store: lease.Store{DB: db, TTL: opts.Lease}, prefix: opts.Prefix}, nil
}

// Do returns the result of the key if there is one. If there is none, Do runs f and keeps the result
// for ttl. If another call is already running a function for the key, Do waits for its result instead. If f
// returns an error or panics, no result is kept, and another caller, waiting or new, runs its own f.
//
// The context of f ends with ctx. If this process can't renew its claim, the context also ends, before another
// process may run its f. Do stores the result even if ctx has ended, and may take up to Lease longer for
// that.
//
// Do returns the error of f as it is, or an [ErrNotStored] with a result. Any other error means that f has not
// run: ctx has ended, the server has refused a request, or the client is closed. While the server can't be
// reached, Do asks again until ctx is done. Repeating a call that did not return a result is safe.
func (r *Runner) Do(ctx context.Context, key string, ttl time.Duration, f func(context.Context) ([]byte, error)) ([]byte, error) {
	if key == "" {
		return nil, fmt.Errorf("%w: no key", ErrCall)
	}
	if f == nil {
		return nil, fmt.Errorf("%w: no function", ErrCall)
	}
	if ttl < time.Millisecond || ttl > longest {
		return nil, fmt.Errorf("%w: the result would be kept for %v", ErrCall, ttl)
	}
	c := &claim{runner: r, key: r.prefix + key, owner: lease.NewOwner()}
	wait, err := c.try(ctx)
	if err == nil && wait > 0 {
		err = r.turns.Wait(ctx, r.store.DB, c.key, c.try)
	}
	switch {
	case err != nil:
		if c.unknown {
			r.store.Abandon(ctx, c.key, c.owner)
		}
		return nil, err
	case c.hold == nil:
		return c.value, nil
	}
	return c.run(ctx, ttl, f)
}
