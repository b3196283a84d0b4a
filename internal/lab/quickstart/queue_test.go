package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/testbed"
)

// Workers take every job once, from the embedded server and a real one.
func TestQueue(t *testing.T) {
	testbed.RequireRedis()
	for name, addr := range map[string]string{"miniredis": serveForTest(t), "redis": testbed.NewServer(t).Addr()} {
		t.Run(name, func(t *testing.T) {
			ctx := testContext(t)
			db := connectForTest(t, addr, redisconn.Opts{})
			q := &queue{db: db}
			require.NoError(t, q.run(ctx, 100*time.Millisecond))
			require.Positive(t, q.pushed)
			require.Equal(t, q.pushed, q.taken.total())
			require.Equal(t, int64(0), db.Do(ctx, "DBSIZE"))
		})
	}
}

// If a worker fails, the queue ends with the worker's error.
func TestQueueReportsErrors(t *testing.T) {
	ctx := testContext(t)
	q := &queue{db: connectForTest(t, serveForTest(t), redisconn.Opts{DedicatedConns: -1})}
	require.ErrorContains(t, q.run(ctx, time.Minute), "BLPOP")
}
