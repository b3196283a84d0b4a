package redismirror_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/lab/drill"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster"
	"github.com/joomcode/redispipe/redismirror"
	"github.com/joomcode/redispipe/testbed"
)

// Under load, the keys of one cluster are copied to another one, and cut over forth and back. Both clusters
// have each acknowledged write once, in order.
func TestCutOverOfClusters(t *testing.T) {
	if !drill.InFull {
		t.Skip("it starts two clusters")
	}
	t.Parallel()
	const writers = 4
	ctx := t.Context()
	var sides [2]redis.Sender
	for i := range sides {
		c, err := rediscluster.NewCluster(ctx, testbed.NewCluster(t).Addrs(), rediscluster.Opts{Logger: rediscluster.NoopLogger{}})
		require.NoError(t, err)
		sides[i] = c
	}
	for i := range 300 {
		require.NoError(t, redis.Err(redis.SyncCtx{S: sides[0]}.Do(ctx, "SET", fmt.Sprint("before", i), i)))
	}
	m, err := redismirror.New(sides[0], sides[1], redismirror.Opts{Reads: 0.2})
	require.NoError(t, err)
	t.Cleanup(m.Close)
	db := redis.SyncCtx{S: redis.WithRetry(m, redis.RetryOpts{})}
	load, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	var wrote [writers]int
	for w := range writers {
		running.Go(func() {
			for ; load.Err() == nil; wrote[w]++ {
				res := db.Do(ctx, "RPUSH", fmt.Sprint("list", w), wrote[w])
				if !assert.Equal(t, int64(wrote[w]+1), res) {
					return
				}
			}
		})
	}
	n, err := m.Copy(ctx, redis.ScanOpts{})
	require.NoError(t, err)
	require.GreaterOrEqual(t, n, 300)
	for _, share := range []float64{0.1, 0.5, 1, 0.3, 0, 1} {
		require.NoError(t, m.CutOver(ctx, share), "%v", m.Findings())
	}
	stop()
	running.Wait()
	require.Eventually(t, func() bool { return m.Stats().Pending == 0 }, time.Minute, time.Millisecond)
	require.Empty(t, m.Findings())
	t.Logf("%v, %+v", wrote, m.Stats())
	for _, side := range sides {
		at := redis.SyncCtx{S: side}
		for w := range writers {
			values, err := redis.As[[]int](at.Do(ctx, "LRANGE", fmt.Sprint("list", w), 0, -1))
			require.NoError(t, err)
			require.Len(t, values, wrote[w])
			for i, value := range values {
				require.Equal(t, i, value)
			}
		}
		for i := range 300 {
			require.Equal(t, fmt.Appendf(nil, "%d", i), at.Do(ctx, "GET", fmt.Sprint("before", i)))
		}
	}
}
