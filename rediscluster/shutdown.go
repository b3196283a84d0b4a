package rediscluster

import (
	"context"
	"time"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/life"
	"github.com/joomcode/redispipe/redis"
)

// Shutdown accepts no more requests (they end with [redis.ErrContextClosed], not sent),
// waits until those that it has accepted are answered or ctx is done, and closes the
// cluster. If requests are left when ctx is done, they end as by Close, and an
// [ErrShutdown] says how many there were: those on a connection may have run, those
// between two attempts have not.
func (c *Cluster) Shutdown(ctx context.Context) error {
	if ctx == nil {
		return redis.Err(errs.NilContext())
	}
	c.draining.Store(true)
	defer c.Close()
	for l := range c.refresher.links() {
		l.Inner.DrainDedicated()
	}
	poll := time.NewTicker(shutdownPoll)
	defer poll.Stop()
	for !c.closed.Load() {
		sent, waiting := c.unanswered()
		if sent+waiting == 0 {
			return c.closeLinks(ctx)
		}
		select {
		case <-poll.C:
		case <-ctx.Done():
			return redis.Err(c.withCluster(ErrShutdown.Wrap(life.Reason(ctx),
				"%d requests are not answered and may have run, %d wait for another attempt", sent, waiting)))
		}
	}
	return nil
}

// unanswered counts the requests on connections, be they of the cluster, of a scanner or of
// somebody who got the connection from EachShard, and those that wait for another attempt.
func (c *Cluster) unanswered() (sent, waiting int64) {
	waiting = c.waiting.Load()
	for l := range c.refresher.links() {
		sent += int64(l.Conn.Pending())
	}
	return max(sent, c.accepted.Load()-waiting), waiting
}

// shutdownPoll is how often Shutdown looks whether all is answered: it is
// called once, and a request takes longer than this to notice the difference.
const shutdownPoll = 2 * time.Millisecond

// closeLinks closes the connections, of which users may have got some from
// EachShard: each answers what it has taken.
func (c *Cluster) closeLinks(ctx context.Context) error {
	for l := range c.refresher.links() {
		if err := l.Conn.Shutdown(ctx); err != nil {
			return redis.Err(c.withCluster(ErrShutdown.Wrap(err, "one of the connections")))
		}
	}
	return nil
}
