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
	// ErrNotFound is for loaders to return if there is nothing to load. The cache keeps that for
	// [Opts.NegativeTTL], and Get returns ErrNotFound.
	ErrNotFound = errors.New("aside: not found")
	// ErrLoad: another caller has failed to load the entry, and [Opts.RetryAfter] has not passed. The
	// process whose loader failed returns the loader's own error instead.
	ErrLoad = errors.New("aside: another caller could not load the entry")
	// ErrLost is the cause of the end of a loader's context if another process may load now.
	ErrLost = lease.ErrLost

	errDone = errors.New("aside: the loader has returned")
)

// Load loads an entry. It should end when its context does.
type Load func(context.Context) ([]byte, error)

// Cache gets entries. It is safe for concurrent use.
type Cache struct {
	client Client       // subscribes
	db     redis.Sender // the client, or the cache in the memory of the process
	opts   Opts

	mu      sync.Mutex // guards what follows
	flights map[string]*flight
	// refreshes has the keys that goroutines of the process load in the background.
	refreshes map[string]struct{}
}

// flight is the call of one caller on behalf of all callers of the process that miss the same key. When
// it has ended, the others read the entry from Redis, because the entry that the flight got may be
// older than their calls, and may have been deleted since.
type flight struct {
	done chan struct{} // closed when err is set
	err  error         // why nobody loads the entry now. It is nil if the caller has left or has panicked.
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

// Get returns the entry of a key. It must not be changed. If there is none, one caller of all processes
// loads it, with load, and the others wait. From [Opts.RefreshAfter] on, one caller of all processes loads the entry again, in the
// background, and Get returns the entry that there is.
//
// The context of load ends with ctx, or before another process may load. If load fails because ctx has
// ended, the next waiting caller loads the entry, with its own function. If load returns an error for
// another reason, Get returns that error to all waiting callers of this process, and nobody loads the
// entry again before [Opts.RetryAfter] has passed: until then, other callers get [ErrLoad] if there is
// no entry.
//
// A loader that panics in the background ends the program, as any goroutine does. At most 128 loaders of a Cache run in the
// background; other entries are loaded when they end.
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
// kept. So an entry that is read after Delete has returned was loaded after Delete was called. It
// repeats its request until the outcome is known, or ctx is done.
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
	left := ctx.Err() != nil || errors.Is(err, context.Canceled) // the caller has left, or lost the lease
	if !left && !errors.Is(err, ErrNotFound) {
		f.err = err
	}
	return value, err
}
