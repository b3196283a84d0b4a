package rediscluster

import (
	"context"
	"sync"

	"github.com/joomcode/redispipe/internal/backend"
	"github.com/joomcode/redispipe/redis"
)

// EachShard implements redis.Sender: it calls f for each master with the
// connection to it, or with an error if there is none.
func (c *Cluster) EachShard(f func(redis.Sender, error) bool) {
	if !c.opened() {
		backend.Nobody.EachShard(f)
		return
	}
	if f == nil {
		return
	}
	if c.draining.Load() {
		f(nil, c.errClosed())
		return
	}
	t := c.topology.Load()
	for _, s := range t.Shards {
		l := s.Master.Pick(c.opts.RoundRobinSeed, nil)
		if l == nil {
			err := ErrNoAliveConnection.New("the master is not connected")
			if failure := s.Master.Failure(); failure != nil {
				err = ErrNoAliveConnection.Wrap(failure.Err, "the master is not connected")
			}
			err = err.WithProperty(redis.EKAddress, s.Master.Addr)
			if !f(nil, c.withCluster(err)) {
				return
			}
			continue
		}
		if !f(l.Conn, nil) {
			return
		}
	}
}

// DoEachShard sends a request to every master of a cluster at once, for commands such
// as FLUSHALL, SCRIPT LOAD or FUNCTION LOAD, and returns their results in no particular
// order; each may be an error. It also works on a single connection. When ctx is done
// it stops waiting, but requests that were sent may run.
func DoEachShard(ctx context.Context, s redis.Sender, req redis.Request) []any {
	var shards []redis.Sender
	var results []any
	redis.WithHook(s, nil).EachShard(func(shard redis.Sender, err error) bool { // without a hook, it only replaces a nil sender
		shards, results = append(shards, shard), append(results, err)
		return true
	})
	var all sync.WaitGroup
	for i, err := range results {
		if err == nil {
			results[i] = redis.ErrRequestCancelled.New("a hook has ended the goroutine of the request")
			all.Go(func() { results[i] = redis.SyncCtx{S: shards[i]}.Send(ctx, req) })
		}
	}
	all.Wait()
	return results
}
