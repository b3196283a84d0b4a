package redisconn_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/testbed"
)

func TestShutdownWaitsForWhatIsInFlight(t *testing.T) {
	s := testbed.NewServer(t)
	conn := connect(t, s.Addr(), redisconn.Opts{IOTimeout: time.Minute, Logger: redisconn.NoopLogger{}})
	require.NoError(t, s.Pause())
	future := redis.ChanFutured{S: conn}.Send(redis.Req("INCR", "a"))
	ended := make(chan error, 1)
	go func() { ended <- conn.Shutdown(context.Background()) }()
	require.Eventually(t, func() bool {
		var refused atomic.Bool
		conn.Send(redis.Req("GET", "a"), redis.FuncFuture(func(res any, _ uint64) {
			err := redis.AsErrorx(res)
			refused.Store(err != nil && err.IsOfType(redis.ErrContextClosed))
		}), 0)
		return refused.Load()
	}, time.Second, time.Millisecond)
	require.NoError(t, s.Resume())
	require.NoError(t, <-ended)
	require.Equal(t, int64(1), future.Value())
	require.Error(t, conn.Ctx().Err())
}

func TestShutdownCountsWhatIsLeft(t *testing.T) {
	s := testbed.NewServer(t)
	conn := connect(t, s.Addr(), redisconn.Opts{IOTimeout: time.Minute, Logger: redisconn.NoopLogger{}})
	require.NoError(t, s.Pause())
	defer s.Resume()
	future := redis.ChanFutured{S: conn}.Send(redis.Req("INCR", "a"))
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	err := redis.AsErrorx(conn.Shutdown(ctx))
	require.True(t, err.IsOfType(redisconn.ErrShutdown))
	unknown, _ := err.Property(redisconn.EKUnknown)
	require.Equal(t, 1, unknown)
	left := redis.AsErrorx(future.Value())
	require.True(t, left.IsOfType(redis.ErrIO), "%v", left)
	require.False(t, left.HasTrait(redis.ErrTraitNotSent))
}
