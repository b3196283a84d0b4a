package redisconn

import (
	"context"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/life"
	"github.com/joomcode/redispipe/redis"
)

// ErrShutdown is returned by Shutdown when requests were left.
var ErrShutdown = redis.Errors.NewType("shutdown")

var (
	// EKUnsent is how many requests were not sent (int).
	EKUnsent = errs.NewPrintableProperty("unsent")
	// EKUnknown is how many requests were sent and not answered (int).
	EKUnknown = errs.NewPrintableProperty("unknown")
)

// Shutdown accepts no more requests, waits until those that were accepted are answered or
// ctx is done, and closes the connection. It waits for open sessions, which may go on
// sending all but blocking commands. Blocking commands are unblocked: they end with what
// the server has given them, or with [redis.ErrContextClosed], not sent. If requests are
// left when ctx is done, they are resolved as by Close, and an [ErrShutdown] says how
// many there were; each open session counts as one.
func (c *Connection) Shutdown(ctx context.Context) error {
	if ctx == nil {
		return redis.Err(errs.NilContext())
	}
	defer c.Close()
	// Blocking commands are unblocked through the shared connection, so that is drained
	// after them.
	for _, drained := range []func() <-chan struct{}{c.pool.Shut, c.queue.Drain, c.pool.Drained} {
		select {
		case <-drained():
		case <-c.ctx.Done():
			return nil
		case <-ctx.Done():
			return c.errLeft(ctx)
		}
	}
	return nil
}

// errLeft says how many requests are left, if there are any.
func (c *Connection) errLeft(ctx context.Context) error {
	unsent, unknown := c.left()
	if unsent+unknown == 0 {
		return nil
	}
	return redis.Err(ErrShutdown.Wrap(life.Reason(ctx), "requests are left").
		WithProperty(EKUnsent, unsent).WithProperty(EKUnknown, unknown))
}

// left counts the pending requests. Each open session counts as one of unknown outcome.
func (c *Connection) left() (unsent, unknown int) {
	unsent, unknown = c.queue.Left()
	granted, waiting := c.pool.Left()
	return unsent + waiting, unknown + granted
}

// Pending returns the number of requests without an answer, written or not, plus the
// number of open sessions. It does not count the library's own requests, such as
// heartbeats.
func (c *Connection) Pending() int {
	unsent, unknown := c.left()
	return unsent + unknown
}
