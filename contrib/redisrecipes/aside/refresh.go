package aside

import (
	"context"
	"time"

	"github.com/joomcode/redispipe/contrib/redisrecipes/internal/lease"
)

const (
	// maxRefreshes bounds the loaders that run in the background of a process.
	maxRefreshes = 128
	// askAgain is how long a process waits before it tries again to refresh an entry, if another process is
	// refreshing it.
	askAgain = time.Second
)

// refresh loads an entry in the background, unless another goroutine of this process does. Its
// goroutine ends when the loader returns, after LoadTimeout or, if another process loads the entry,
// after a second.
func (c *Cache) refresh(ctx context.Context, k keys, load Load) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, running := c.refreshes[k.entry]; running || len(c.refreshes) >= maxRefreshes {
		return
	}
	c.refreshes[k.entry] = struct{}{}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.opts.LoadTimeout)
	go func() {
		defer func() {
			cancel()
			c.mu.Lock()
			delete(c.refreshes, k.entry)
			c.mu.Unlock()
		}()
		l := &loading{cache: c, keys: k, owner: lease.NewOwner(), oldest: c.opts.RefreshAfter, alone: true}
		_, err := l.try(ctx)
		if err == nil && l.hold != nil {
			_, _ = l.run(ctx, load)
			return
		}
		if l.unknown {
			l.leave(ctx, 0)
		}
		lease.Sleep(ctx, askAgain)
	}()
}
