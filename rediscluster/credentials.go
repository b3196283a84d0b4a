package rediscluster

import (
	"context"
	"sync"

	"github.com/joomcode/redispipe/redis"
)

// Reauthenticate calls [redisconn.Connection.Reauthenticate] of all connections to all
// nodes at once; each calls HostOpts.CredentialsProvider for itself. It returns nil
// when all have confirmed, and otherwise one of the errors; the other connections use
// the new credentials then. Calling it again is safe. Each failure is reported by a
// [LogHostEvent] with a [redisconn.LogAuthFailed].
func (c *Cluster) Reauthenticate(ctx context.Context) error {
	if ctx == nil {
		return redis.ErrContextIsNil.New("context is nil")
	}
	if c.closed.Load() {
		return c.errClosed()
	}
	links := c.refresher.links()
	errs := make(chan error, len(links))
	var wg sync.WaitGroup
	for l := range links {
		wg.Go(func() { errs <- l.conn.Reauthenticate(ctx) })
	}
	wg.Wait()
	close(errs)
	var failure error
	for err := range errs {
		// A connection that has been closed with its node needs no credentials.
		if err != nil && !redis.AsErrorx(err).IsOfType(redis.ErrContextClosed) {
			failure = err
		}
	}
	return failure
}
