package rediscluster

import (
	"context"
	"time"

	"github.com/joomcode/redispipe/redis"
)

// shutdownPoll is how often Shutdown looks whether all is answered: it is
// called once, and a request takes longer than this to notice the difference.
const shutdownPoll = 2 * time.Millisecond

// Shutdown takes no new requests (they end with redis.ErrContextClosed, not
// sent), waits until those that it has taken are answered, or ctx ends, and
// closes the cluster. If some are left then, the error (ErrShutdown) says how
// many: those with a connection may have run, those between two attempts have not.
func (c *Cluster) Shutdown(ctx context.Context) error {
	if ctx == nil {
		return redis.ErrContextIsNil.New("context is nil")
	}
	c.draining.Store(true)
	defer c.Close()
	poll := time.NewTicker(shutdownPoll)
	defer poll.Stop()
	for {
		sent, waiting := c.refresher.pending(), c.waiting.Load()
		if sent == 0 && waiting == 0 || c.closed.Load() {
			return nil
		}
		select {
		case <-poll.C:
		case <-ctx.Done():
			return c.withCluster(ErrShutdown.Wrap(context.Cause(ctx),
				"%d requests are not answered and may have run, %d wait for another attempt", sent, waiting))
		}
	}
}

// pending counts the requests that connections have not answered, those of
// retired nodes included.
func (r *refresher) pending() (n int64) {
	for _, node := range r.c.topology.Load().nodes {
		for _, l := range node.links {
			n += l.pending.Load()
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for l := range r.retired {
		n += l.pending.Load()
	}
	return n
}
