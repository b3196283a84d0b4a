package virtualpeers

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redis/redis_rate/v10"
	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redisconn"
)

// eachGuest runs a test with go-redis over a connection of each protocol.
func eachGuest(t *testing.T, test func(t *testing.T, rdb *redis.Client)) {
	for _, protocol := range []int{2, 3} {
		t.Run(fmt.Sprint("RESP", protocol), func(t *testing.T) {
			rdb := guest(t, connect(t, server.Addr(), redisconn.Opts{Protocol: protocol}))
			require.NoError(t, rdb.FlushAll(context.Background()).Err())
			test(t, rdb)
		})
	}
}

// asynq: all tasks complete, including those that fail at first.
func TestAsynq(t *testing.T) {
	eachGuest(t, func(t *testing.T, rdb *redis.Client) {
		client := asynq.NewClientFromRedisClient(rdb)
		const tasks = 200
		var done, failed atomic.Int64
		worker := asynq.NewServerFromRedisClient(rdb, asynq.Config{
			Concurrency: 20, LogLevel: asynq.FatalLevel, TaskCheckInterval: 50 * time.Millisecond, DelayedTaskCheckInterval: 50 * time.Millisecond,
			RetryDelayFunc: func(int, error, *asynq.Task) time.Duration { return time.Millisecond },
		})
		require.NoError(t, worker.Start(asynq.HandlerFunc(func(_ context.Context, task *asynq.Task) error {
			if len(task.Payload())%10 == 1 && failed.Add(1) <= 5 {
				return fmt.Errorf("once more")
			}
			done.Add(1)
			return nil
		})))
		for i := range tasks {
			_, err := client.Enqueue(asynq.NewTask("work", make([]byte, i)))
			require.NoError(t, err)
		}
		require.Eventually(t, func() bool { return done.Load() == tasks }, 60*time.Second, time.Millisecond)
		worker.Shutdown()
		info, err := asynq.NewInspectorFromRedisClient(rdb).GetQueueInfo("default")
		require.NoError(t, err)
		require.Zero(t, info.Size)
		require.Equal(t, 5, info.Failed)
	})
}

// redsync: only one holder has the lock at a time.
func TestRedsync(t *testing.T) {
	eachGuest(t, func(t *testing.T, rdb *redis.Client) {
		rs := redsync.New(goredis.NewPool(rdb))
		var holds, most atomic.Int64
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				for range 5 {
					m := rs.NewMutex("lock", redsync.WithTries(10_000), redsync.WithRetryDelay(time.Millisecond))
					if err := m.Lock(); err != nil {
						t.Error(err)
						return
					}
					most.Store(max(most.Load(), holds.Add(1)))
					holds.Add(-1)
					if ok, err := m.Unlock(); !ok || err != nil {
						t.Error(ok, err)
					}
				}
			})
		}
		all.Wait()
		require.Equal(t, int64(1), most.Load())
	})
}

// redis_rate: exactly the configured number of requests is allowed.
func TestRedisRate(t *testing.T) {
	eachGuest(t, func(t *testing.T, rdb *redis.Client) {
		limiter := redis_rate.NewLimiter(rdb)
		allowed := 0
		for range 30 {
			res, err := limiter.Allow(context.Background(), "rate", redis_rate.PerHour(10))
			require.NoError(t, err)
			allowed += res.Allowed
		}
		require.Equal(t, 10, allowed)
	})
}

// redislock: a lock can't be obtained while another holder has it.
func TestRedislock(t *testing.T) {
	eachGuest(t, func(t *testing.T, rdb *redis.Client) {
		ctx := context.Background()
		locker := redislock.New(rdb)
		lock, err := locker.Obtain(ctx, "redislock", time.Minute, nil)
		require.NoError(t, err)
		_, err = locker.Obtain(ctx, "redislock", time.Minute, nil)
		require.Equal(t, redislock.ErrNotObtained, err)
		require.NoError(t, lock.Refresh(ctx, time.Minute, nil))
		require.NoError(t, lock.Release(ctx))
	})
}
