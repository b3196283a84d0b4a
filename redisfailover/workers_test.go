package redisfailover_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisfailover"
	"github.com/joomcode/redispipe/testbed"
)

// delivered holds the values that a worker has got.
type delivered struct {
	mu     sync.Mutex // guards values
	values map[string]bool
}

func (d *delivered) add(value string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.values[value] = true
}

// all reports whether the worker has got all values that were added on a server.
func (d *delivered) all(name string, n int) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range n {
		if !d.values[fmt.Sprint(name, i)] {
			return false
		}
	}
	return true
}

// After a shift, readers of streams and workers of jobs continue on the active member, and also get the
// pending entries there. Scripts are loaded there again.
func TestWorkersGoOn(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	var workers sync.WaitGroup
	defer workers.Wait()
	defer cancel()
	servers := map[string]*testbed.Server{"near": testbed.NewServer(t), "far": testbed.NewServer(t)}
	var members []redisfailover.Member
	for name, server := range servers {
		members = append(members, redisfailover.Member{
			Name: name, URL: "redis://" + server.Addr() + "?read_timeout=60s", Options: []redispipe.Option{redispipe.Logger(nil)},
		})
	}
	db, err := redisfailover.Open(ctx, members, redisfailover.Opts{Patience: time.Hour, Logger: redisfailover.NoopLogger{}})
	require.NoError(t, err)
	defer db.Close()
	entries, jobs := &delivered{values: map[string]bool{}}, &delivered{values: map[string]bool{}}
	given := map[string]int{}
	give := func(name string) {
		for range 5 {
			value := fmt.Sprint(name, given[name])
			given[name]++
			require.NoError(t, redis.Err(servers[name].Do("XADD", "stream", "*", "value", value)))
			require.NoError(t, redis.Err(servers[name].Do("RPUSH", "jobs", value)))
		}
	}
	group, err := redis.NewGroupReader(db, redis.GroupOpts{
		Stream: "stream", Group: "workers", Consumer: "c", Count: 2, Block: 10 * time.Millisecond, MinIdle: 30 * time.Millisecond,
	})
	require.NoError(t, err)
	workers.Go(func() {
		for m, err := range group.Messages(ctx) {
			if fields, _ := redis.As[map[string]string](m.Fields); err == nil {
				entries.add(fields["value"])
				_ = group.Ack(m.ID) // after an error the entry stays pending, and is delivered again
			}
		}
	})
	queue, err := redis.NewJobReader(db, redis.JobOpts{Queue: "jobs", Ack: true, MinIdle: time.Second})
	require.NoError(t, err)
	workers.Go(func() {
		for job, err := range queue.Jobs(ctx) {
			if err == nil {
				jobs.add(string(job.Payload))
				queue.Ack(job)
			}
		}
	})
	script := redis.NewScript("return redis.call('INCRBY', KEYS[1], ARGV[1])")
	for i, name := range []string{"near", "far", "near"} {
		require.NoError(t, db.SwitchTo(name))
		give(name)
		require.EqualValues(t, i/2+1, script.Do(ctx, db, []string{"n"}, 1))
		require.Eventually(t, func() bool {
			pending, err := redis.As[[]any](servers[name].Do("XPENDING", "stream", "workers"))
			return err == nil && pending[0] == int64(0) && entries.all(name, given[name]) && jobs.all(name, given[name])
		}, time.Minute, 5*time.Millisecond, "%s: %v %v", name, entries, jobs)
	}
}
