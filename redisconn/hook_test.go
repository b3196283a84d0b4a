package redisconn_test

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/testbed"
)

// completions is a hook that keeps how operations ended.
type completions struct {
	mu   sync.Mutex
	ends []redis.Completion
	more chan struct{}
}

func (c *completions) Before(ctx context.Context, _ redis.Operation) context.Context { return ctx }

func (c *completions) After(_ context.Context, _ redis.Operation, end redis.Completion) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ends = append(c.ends, end)
	c.more <- struct{}{}
}

// A hook sees which server has answered, whichever way the request went.
func TestHookSeesAddress(t *testing.T) {
	s := testbed.NewServer(t)
	conn := connect(t, s.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}})
	hook := &completions{more: make(chan struct{}, 10)}
	hooked := redis.WithHook(conn, hook)
	reqs := []redis.Request{redis.Req("INCR", "n"), redis.Req("GET", "n")}
	for i, send := range []func(){
		func() { require.Equal(t, "PONG", redis.Sync{S: hooked}.Do("PING")) },
		func() { redis.Sync{S: hooked}.SendMany(reqs) },
		func() { _, _ = redis.Sync{S: hooked}.SendTransaction(reqs) },
		func() { redis.ChanFutured{S: hooked}.Send(reqs[0]).Value() },
		func() { redis.ChanFutured{S: hooked}.SendMany(reqs)[1].Value() },
		func() { redis.ChanFutured{S: hooked}.SendTransaction(reqs).Value() },
		func() { require.Error(t, redis.AsError(redis.Sync{S: hooked}.Do("GET"))) },
	} {
		send()
		<-hook.more
		end := hook.ends[i]
		require.Equal(t, s.Addr(), end.Address, i)
		require.Equal(t, conn.RemoteAddr(), end.Peer, i)
	}
	require.Equal(t, redis.OutcomeRefused, hook.ends[6].Outcome)
}
