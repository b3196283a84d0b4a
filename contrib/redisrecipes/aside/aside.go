// Package aside caches values that are slow to load in Redis, for all processes: one process loads an
// entry, and the others wait for it.
//
//	pages, err := aside.New(client, aside.Opts{TTL: time.Minute})
//	…
//	page, err := pages.Get(ctx, "page:1", func(ctx context.Context) ([]byte, error) {
//		return render(ctx, 1)
//	})
//
// The guide is docs/recipes.md.
package aside

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/joomcode/redispipe/contrib/redisrecipes/internal/lease"
	"github.com/joomcode/redispipe/redis"
)

var (
	// ErrOpts is returned by [New] for invalid options.
	ErrOpts = errors.New("aside: invalid options")
	// ErrKey: the key is empty or starts with "}". Nothing was sent.
	ErrKey = errors.New("aside: invalid key")
	// ErrLoader: there is no loader. Nothing was sent.
	ErrLoader = errors.New("aside: no loader")
	// ErrNotFound is the error that your loader must return if there is nothing to load. The cache remembers
	// this for [Opts.NegativeTTL], and Get returns ErrNotFound.
	ErrNotFound = errors.New("aside: not found")
	// ErrLoad: another caller has failed to load the entry, and [Opts.RetryAfter] has not passed. The
	// process whose loader failed returns the loader's own error instead.
	ErrLoad = errors.New("aside: another caller could not load the entry")
	// ErrLost is the cause with which a loader's context ends if another process may load now.
	ErrLost = lease.ErrLost

	errDone = errors.New("aside: the loader has returned")
)

// Load loads an entry. It should end when its context does.
type Load func(context.Context) ([]byte, error)

// Cache gets entries. It is safe for concurrent use.
type Cache struct {
	client Client       // for subscriptions
	db     redis.Sender // for requests: the client, or Opts.Memory
	opts   Opts

	mu      sync.Mutex // guards the fields below
	flights map[string]*flight
	// refreshes has the keys that goroutines of the process load in the background.
	refreshes map[string]struct{}
}

// flight is a call of Get on behalf of all callers of the process that miss the same key. When it has
// ended, the others read the entry from Redis. They don't use the entry of the flight, because it may be
// older than their calls, and may have been deleted since then.
type flight struct {
	done chan struct{} // closed when err is set
	err  error         // the error that all callers get; nil if there is an entry, or if the caller has left or panicked
}

// New returns a cache. It returns an [ErrOpts] if the options are invalid.
func New(db Client, opts Opts) (*Cache, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	if !lease.Usable(db) {
		return nil, fmt.Errorf("%w: the client is nil, or was not opened with redispipe.Open", ErrOpts)
	}
	c := &Cache{client: db, db: db, opts: opts, flights: map[string]*flight{}, refreshes: map[string]struct{}{}}
	if opts.Memory != nil {
		c.db = opts.Memory
	}
	return c, nil
}

// Get returns the entry of a key. Do not modify it. If there is no entry, one caller among all processes
// loads it by calling load, and the others wait. If the entry is older than [Opts.RefreshAfter], Get returns it,
// and one caller among all processes loads it again in the background.
//
// The context of load ends with ctx, or before another process may load. If load fails because ctx has
// ended, the next waiting caller loads the entry, with its own function. If load returns an error for
// another reason, Get returns that error to all waiting callers of this process, and nobody loads the
// entry again before [Opts.RetryAfter] has passed: until then, other callers get [ErrLoad] if there is
// no entry.
//
// A loader that panics in the background ends the program, like a panic in any goroutine. At most 128 loaders of
// a Cache run in the background; other entries are loaded again later.
//
// Get returns an error of the library if the server does not answer or refuses a request. It returns a
// loaded value even if it could not store it. Repeating the call is safe.
func (c *Cache) Get(ctx context.Context, key string, load Load) ([]byte, error) {
	k, err := c.opts.keys(key)
	if err != nil {
		return nil, err
	}
	if load == nil {
		return nil, ErrLoader
	}
	for {
		e, err := c.read(ctx, k)
		if err != nil {
			return nil, err
		}
		if e != nil && !e.ended(c.opts.TTL) {
			if e.kind == found && time.Since(e.made) >= c.opts.RefreshAfter {
				c.refresh(ctx, k, load)
			}
			return e.result()
		}
		f, mine := c.board(k)
		if mine {
			return c.fly(ctx, k, load, f)
		}
		select {
		case <-f.done:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		if f.err != nil {
			return nil, f.err
		}
	}
}

// Delete removes the entry of a key. The context of a running loader ends soon, and its result is not
// kept. So an entry that Get returns after Delete has returned was loaded after Delete was called. Delete
// repeats its request until the outcome is known or ctx is done.
func (c *Cache) Delete(ctx context.Context, key string) error {
	k, err := c.opts.keys(key)
	if err != nil {
		return err
	}
	_, err = lease.Run(ctx, c.db, remove, k.list())
	return err
}

// board returns the flight of a key. If mine is set, the caller must call fly.
func (c *Cache) board(k keys) (f *flight, mine bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f = c.flights[k.entry]; f != nil {
		return f, false
	}
	f = &flight{done: make(chan struct{})}
	c.flights[k.entry] = f
	return f, true
}

// fly gets an entry, and ends the flight.
func (c *Cache) fly(ctx context.Context, k keys, load Load, f *flight) ([]byte, error) {
	defer func() {
		c.mu.Lock()
		delete(c.flights, k.entry)
		c.mu.Unlock()
		close(f.done)
	}()
	value, err := c.fetch(ctx, k, load)
	left := ctx.Err() != nil || errors.Is(err, context.Canceled) // the caller has left, or has lost the lease
	if !left && !errors.Is(err, ErrNotFound) {
		f.err = err
	}
	return value, err
}
