package rediscluster

import (
	"context"
	"sync"

	"github.com/joomcode/redispipe/redis"
)

// Reauthenticate is redisconn.Connection.Reauthenticate of all connections to all
// nodes, at once; each asks HostOpts.CredentialsProvider for itself. It returns nil
// when all have confirmed, and one of the errors otherwise: the connections that it
// does not concern go on with the new credentials. Calling again is safe. What failed
// where is reported by a LogHostEvent with a redisconn.LogAuthFailed.
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
