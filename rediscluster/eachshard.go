package rediscluster

import (
	"context"
	"sync"

	"github.com/joomcode/redispipe/redis"
)

// EachShard implements redis.Sender: it calls f for each master with the
// connection to it, or with an error if there is none.
func (c *Cluster) EachShard(f func(redis.Sender, error) bool) {
	if c.draining.Load() {
		f(nil, c.errClosed())
		return
	}
	t := c.topology.Load()
	for _, s := range t.Shards {
		l := s.Master.Pick(c.opts.RoundRobinSeed, nil)
		if l == nil {
			err := ErrNoAliveConnection.New("the master is not connected").WithProperty(redis.EKAddress, s.Master.Addr)
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
// order; each may be an error. It works on a single connection, too. When ctx is done
// it stops waiting, but requests that were sent may run.
func DoEachShard(ctx context.Context, s redis.Sender, req redis.Request) []any {
	var answers []*any
	var all sync.WaitGroup
	s.EachShard(func(shard redis.Sender, err error) bool {
		answer := new(any)
		answers = append(answers, answer)
		if err != nil {
			*answer = err
			return true
		}
		*answer = redis.ErrRequestCancelled.New("a hook has ended the goroutine of the request")
		all.Go(func() { *answer = redis.SyncCtx{S: shard}.Send(ctx, req) })
		return true
	})
	all.Wait()
	results := make([]any, len(answers))
	for i, answer := range answers {
		results[i] = *answer
	}
	return results
}
