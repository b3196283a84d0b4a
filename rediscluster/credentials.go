package rediscluster

import (
	"cmp"
	"context"
	"sync"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
)

// Reauthenticate calls [redisconn.Connection.Reauthenticate] on all connections to all
// nodes at once; each calls HostOpts.CredentialsProvider itself. It returns nil when
// all servers (at least one) to which the cluster is connected have confirmed; other connections ask
// the provider when they connect. Otherwise it returns one of the errors, and only the connections
// that have confirmed use the new credentials. A retry is safe. Each failure is reported
// as a [LogHostEvent] with a [redisconn.LogAuthFailed].
func (c *Cluster) Reauthenticate(ctx context.Context) error {
	if ctx == nil {
		return redis.Err(errs.NilContext())
	}
	if !c.opened() {
		return redis.Err(errs.NoSender())
	}
	if c.closed.Load() {
		return redis.Err(c.errClosed())
	}
	links := c.refresher.links()
	for l := range links {
		if l.Backend.Dialer().Asks(ctx) { // the caller is the CredentialsProvider, which must not wait for itself: the connection returns an error
			return l.Conn.Reauthenticate(ctx)
		}
	}
	errs := make(chan error, len(links))
	var wg sync.WaitGroup
	for l := range links {
		wg.Go(func() { errs <- l.Conn.Reauthenticate(ctx) })
	}
	wg.Wait()
	close(errs)
	var failure, lost error
	confirmed := 0
	for err := range errs {
		switch failed := redis.AsErrorx(err); {
		case failed == nil:
			confirmed++
		case failed.IsOfType(redisconn.ErrNotConnected), failed.IsOfType(redis.ErrIO), failed.IsOfType(redis.ErrContextClosed):
			lost = err
		default:
			failure = err
		}
	}
	if failure == nil && confirmed == 0 {
		failure = cmp.Or(lost, redis.Err(c.errNoLink(routeSpec{})))
	}
	return failure
}
