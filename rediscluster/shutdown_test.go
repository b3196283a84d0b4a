package rediscluster

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/testbed"
)

func TestShutdown(t *testing.T) {
	tb := sharedCluster(t)
	c, _ := connect(t, tb.Addrs(), Opts{})
	const requests = 2000
	results := make(chan any, requests)
	for i := range requests {
		c.Send(redis.Req("SET", fmt.Sprintf("key:%d", i), i), redis.FuncFuture(func(res any, _ uint64) { results <- res }), 0)
	}
	require.NoError(t, c.Shutdown(context.Background()))
	for range requests {
		require.Equal(t, "OK", <-results)
	}
	isType(t, redis.ErrContextClosed, redis.Sync{S: c}.Do("GET", "key:1"))
	assert.NoError(t, c.Shutdown(context.Background()))
}

func TestShutdownWithoutContext(t *testing.T) {
	c := &Cluster{}
	isType(t, redis.ErrContextIsNil, c.Shutdown(nil)) //nolint:staticcheck // what is tested
	assert.False(t, c.draining.Load())
}

func TestShutdownEndsWithContext(t *testing.T) {
	tb := testbed.NewCluster(t, testbed.ClusterOptions{Replicas: -1, NodeTimeout: time.Minute})
	c, _ := connect(t, tb.Addrs(), Opts{HostOpts: redisconn.Opts{IOTimeout: time.Minute}})
	_, n := owner(t, tb, "key")
	require.NoError(t, n.Pause())
	defer func() { _ = n.Resume() }()
	result := make(chan any, 1)
	c.Send(redis.Req("GET", "key"), redis.FuncFuture(func(res any, _ uint64) { result <- res }), 0)
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	err := c.Shutdown(ctx)
	isType(t, ErrShutdown, err)
	assert.Contains(t, err.Error(), "1 requests are not answered")
	isType(t, redis.ErrIO, <-result)
}

// A request that is taken back is not waited for.
func TestShutdownAfterWithdrawal(t *testing.T) {
	tb := sharedCluster(t)
	c, _ := connect(t, tb.Addrs(), Opts{})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	for range 64 {
		go func() {
			for ctx.Err() == nil {
				redis.SyncCtx{S: c}.Do(ctx, "GET", "key")
			}
			done <- struct{}{}
		}()
	}
	cancel()
	for range 64 {
		<-done
	}
	within, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	assert.NoError(t, c.Shutdown(within))
}
