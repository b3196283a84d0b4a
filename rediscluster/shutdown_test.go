package rediscluster

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest/chaos"
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
	isType(t, redis.ErrContextIsNil, c.Shutdown(nil)) //nolint:staticcheck // the test needs a nil context
	assert.False(t, c.draining.Load())
}

func TestShutdownEndsWithContext(t *testing.T) {
	tb := sharedMasters.of(t)
	c, _ := connect(t, tb.Addrs(), calm)
	_, n := owner(t, tb, "key")
	require.NoError(t, n.Pause())
	defer func() { _ = n.Resume() }()
	result := make(chan any, 1)
	c.Send(redis.Req("GET", "key"), redis.FuncFuture(func(res any, _ uint64) { result <- res }), 0)
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	err := c.Shutdown(ctx)
	isType(t, ErrShutdown, err)
	assert.Contains(t, err.Error(), "not answered and may have run: 1;")
	isType(t, redis.ErrIO, <-result)
}

// Shutdown does not wait for a withdrawn request.
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

// TestShutdownWaitsForAll covers every way in which a request can reach its connection.
func TestShutdownWaitsForAll(t *testing.T) {
	for name, c := range map[string]struct {
		reply string
		send  func(c *Cluster, cb redis.Future)
	}{
		"a scanner's step": {"*2\r\n$1\r\n0\r\n*0\r\n", func(c *Cluster, cb redis.Future) {
			c.Scanner(redis.ScanOpts{}).Next(cb)
		}},
		"EachShard": {"+OK\r\n", func(c *Cluster, cb redis.Future) {
			c.EachShard(func(s redis.Sender, _ error) bool {
				s.Send(redis.Req("GET", "key"), cb, 0)
				return true
			})
		}},
		"DoEachShard": {"+OK\r\n", func(c *Cluster, cb redis.Future) {
			go func() { cb.Resolve(DoEachShard(context.Background(), c, redis.Req("FLUSHALL"))[0], 0) }()
		}},
		"SendMany": {"+OK\r\n", func(c *Cluster, cb redis.Future) {
			c.SendMany([]redis.Request{redis.Req("SET", "a", 1), redis.Req("SET", "b", 1)}, cb, 0)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			play, release := holding(c.reply)
			node := newScriptedNode(t, play)
			cluster, _ := connect(t, []string{node.Addr()}, Opts{HostOpts: redisconn.Opts{IOTimeout: time.Minute}})
			results := make(chan any, 2)
			c.send(cluster, redis.FuncFuture(func(res any, _ uint64) { results <- res }))
			await(t, "request", func() bool {
				sent, _ := cluster.unanswered()
				return sent > 0
			})
			ended := make(chan error, 1)
			go func() { ended <- cluster.Shutdown(context.Background()) }()
			await(t, "Shutdown", cluster.draining.Load)
			isType(t, redis.ErrContextClosed, redis.Sync{S: cluster}.Do("GET", "key"))
			cluster.EachShard(func(_ redis.Sender, err error) bool {
				isType(t, redis.ErrContextClosed, err)
				return true
			})
			close(release)
			require.NoError(t, <-ended)
			require.NoError(t, redis.AsError(<-results))
		})
	}
}

// TestShutdownCountsWhatUsersSendDirectly: Shutdown counts an unanswered step of a scan and an
// unanswered request.
func TestShutdownCountsWhatUsersSendDirectly(t *testing.T) {
	play, release := holding("")
	defer close(release)
	node := newScriptedNode(t, play)
	c, _ := connect(t, []string{node.Addr()}, calm)
	c.Scanner(redis.ScanOpts{}).Next(redis.FuncFuture(func(any, uint64) {}))
	c.EachShard(func(s redis.Sender, _ error) bool {
		s.Send(redis.Req("GET", "key"), nil, 0)
		return true
	})
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	err := c.Shutdown(ctx)
	isType(t, ErrShutdown, err)
	assert.Contains(t, err.Error(), "not answered and may have run: 2;")
}

// gate is a seed that blocks a caller while the gate is shut.
type gate struct {
	shut    atomic.Bool
	reached chan struct{}
	open    chan struct{}
}

// Current implements RoundRobinSeed.
func (g *gate) Current() uint32 {
	if g.shut.CompareAndSwap(true, false) {
		close(g.reached)
		<-g.open
	}
	return 0
}

// TestShutdownBetweenTwoAttempts: Shutdown waits for a request that was answered with an error and whose
// next link is still being chosen.
func TestShutdownBetweenTwoAttempts(t *testing.T) {
	g := &gate{reached: make(chan struct{}), open: make(chan struct{})}
	var asked atomic.Int64
	node := newScriptedNode(t, func(c *chaos.ScriptedConn, _ chaos.ScriptedRequest) error {
		reply := "+OK\r\n"
		if asked.Add(1) == 1 {
			reply = "-LOADING x\r\n"
			g.shut.Store(true)
		}
		_, err := c.Write([]byte(reply))
		return err
	})
	c, _ := connect(t, []string{node.Addr()}, Opts{CheckInterval: time.Minute, RoundRobinSeed: g})
	result := make(chan any, 1)
	// The routing of a request without keys calls the seed.
	c.Send(redis.Req("TIME"), redis.FuncFuture(func(res any, _ uint64) { result <- res }), 0)
	<-g.reached
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	isType(t, ErrShutdown, c.Shutdown(ctx))
	close(g.open)
	<-result
}
