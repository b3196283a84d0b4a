package rediscluster

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/lab/drill"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster/redisclusterutil"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest/chaos"
)

// patient holds options with time-outs so long that only a context ends a request early.
var patient = Opts{ConnsPerHost: 1, CheckInterval: time.Minute, WaitToMigrate: time.Second, HostOpts: redisconn.Opts{IOTimeout: time.Minute}}

// start calls send in a goroutine. It returns a channel that gets the result, and the function that
// cancels the context.
func start(send func(context.Context) any) (result chan any, cancel context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	result = make(chan any, 1)
	go func() { result <- send(ctx) }()
	return result, cancel
}

// seen counts the requests with the name cmd that a server has received.
func seen(s *scriptedNode, cmd string) (n int) {
	for _, r := range s.Requests() {
		if r.Cmd == cmd {
			n++
		}
	}
	return n
}

// requireCancelled requires the error that a caller gets when its context has ended.
func requireCancelled(t *testing.T, res any, notSent bool) {
	t.Helper()
	err := redis.AsErrorx(res)
	require.NotNil(t, err, "%v", res)
	require.True(t, err.IsOfType(redis.ErrRequestCancelled), "%v", err)
	assert.Equal(t, notSent, err.HasTrait(redis.ErrTraitNotSent), "%v", err)
	assert.True(t, redis.CausedBy(err, context.Canceled), "%v", err)
}

// requireNoDelay requires an error without a redis.Delay: the delay of an earlier attempt would blame the
// wrong stage.
func requireNoDelay(t *testing.T, res any) {
	t.Helper()
	d, known := redis.DelayOf(redis.AsError(res))
	require.False(t, known, "%v", d)
}

// awaitMostOnWire is called when the server has just received a request that began at began. It waits
// until the request has spent most of its time on the wire.
func awaitMostOnWire(t *testing.T, began time.Time) {
	t.Helper()
	arrived := time.Now()
	await(t, "most of the time to be spent on the wire", func() bool {
		return time.Since(arrived) > 2*arrived.Sub(began)
	})
}

// ways holds the ways in which a caller with a context can send a request.
var ways = map[string]func(context.Context, redis.SyncCtx) any{
	"Do": func(ctx context.Context, s redis.SyncCtx) any { return s.Do(ctx, "INCR", "key") },
	"SendMany": func(ctx context.Context, s redis.SyncCtx) any {
		return s.SendMany(ctx, []redis.Request{redis.Req("INCR", "key")})[0]
	},
	"SendTransaction": func(ctx context.Context, s redis.SyncCtx) any {
		_, err := s.SendTransaction(ctx, []redis.Request{redis.Req("INCR", "key")})
		return err
	},
}

// A request that waits because the socket is full is withdrawn.
func TestCancelUnsent(t *testing.T) {
	drill.Rotate(t)
	play, release := holding("+OK\r\n")
	node := newScriptedNode(t, play)
	c, _ := connect(t, []string{node.Addr()}, patient)
	const fillers = 64 // requests of 1 MiB: more than the sockets buffer
	filled := make(chan any, fillers)
	value := strings.Repeat("v", 1<<20)
	for i := range fillers {
		c.Send(redis.Req("SET", fmt.Sprint(i), value), redis.FuncFuture(func(res any, _ uint64) { filled <- res }), 0)
	}
	result, cancel := start(func(ctx context.Context) any { return redis.SyncCtx{S: c}.Do(ctx, "INCR", "key") })
	await(t, "the request", func() bool { return c.accepted.Load() == fillers+1 })
	cancel()
	requireCancelled(t, <-result, true)
	close(release)
	for range fillers {
		require.Equal(t, "OK", <-filled)
	}
	require.Equal(t, "OK", redis.Sync{S: c}.Do("GET", "key"))
	assert.Zero(t, seen(node, "INCR"))
}

// A request in flight is abandoned: it may have run, and its reply is dropped.
func TestCancelInFlight(t *testing.T) {
	for name, send := range ways {
		t.Run(name, func(t *testing.T) {
			release := make(chan struct{})
			node := newScriptedNode(t, func(c *chaos.ScriptedConn, r chaos.ScriptedRequest) error {
				reply := map[string]string{"MULTI": "+OK\r\n", "INCR": ":1\r\n", "EXEC": "*1\r\n:1\r\n", "GET": "$2\r\nok\r\n"}[r.Cmd]
				if r.Cmd != "GET" {
					select {
					case <-release:
					case <-c.Done():
					}
				}
				_, err := c.Write([]byte(reply))
				return err
			})
			c, _ := connect(t, []string{node.Addr()}, patient)
			// After this answer, no callback of an earlier batch is running. A callback would add to the delay.
			require.Equal(t, []byte("ok"), redis.Sync{S: c}.Do("GET", "key"))
			began := time.Now()
			result, cancel := start(func(ctx context.Context) any { return send(ctx, redis.SyncCtx{S: c}) })
			await(t, "the request", func() bool { return seen(node, "INCR")+seen(node, "MULTI") == 1 })
			awaitMostOnWire(t, began)
			cancel()
			res := <-result
			requireCancelled(t, res, false)
			_, known := redis.DelayOf(redis.AsError(res))
			require.True(t, known)
			close(release)
			assert.Equal(t, []byte("ok"), redis.Sync{S: c}.Do("GET", "key"))
		})
	}
}

// If the caller leaves between two attempts, it returns at once, and there is no further attempt. The
// error says that the request has not run, except for a batch.
func TestCancelBetweenAttempts(t *testing.T) {
	for name, send := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			node := newScriptedNode(t, func(c *chaos.ScriptedConn, r chaos.ScriptedRequest) error {
				reply := "-TRYAGAIN Multiple keys request during rehashing of slot\r\n"
				if r.Cmd == "GET" {
					reply = "+OK\r\n"
				}
				_, err := c.Write([]byte(reply))
				return err
			})
			c, _ := connect(t, []string{node.Addr()}, patient)
			result, cancel := start(func(ctx context.Context) any { return send(ctx, redis.SyncCtx{S: c}) })
			await(t, "a pause", func() bool { return c.waiting.Load() == 1 })
			cancel()
			res := <-result
			requireCancelled(t, res, name != "SendMany")
			requireNoDelay(t, res)
			await(t, "the end of the pause", func() bool { return c.waiting.Load() == 0 })
			require.Equal(t, "OK", redis.Sync{S: c}.Do("GET", "key"))
			assert.Equal(t, 1, seen(node, "INCR"))
		})
	}
}

// If an attempt was lost and may have run, a caller that leaves before the next attempt gets an unknown
// outcome.
func TestCancelAfterLostAttempt(t *testing.T) {
	var lost atomic.Bool
	node := newScriptedNode(t, func(c *chaos.ScriptedConn, _ chaos.ScriptedRequest) error {
		if lost.CompareAndSwap(false, true) {
			return io.EOF
		}
		_, err := c.Write([]byte("-TRYAGAIN Multiple keys request during rehashing of slot\r\n"))
		return err
	})
	c, _ := connect(t, []string{node.Addr()}, patient)
	result, cancel := start(func(ctx context.Context) any { return redis.SyncCtx{S: c}.Do(ctx, "GET", "key") })
	await(t, "the second attempt", func() bool { return seen(node, "GET") == 2 && c.waiting.Load() == 1 })
	cancel()
	requireCancelled(t, <-result, false)
}

// If a request was sent again, the error says where the last attempt spent its time.
func TestDelayOfLastAttempt(t *testing.T) {
	play, release := holding("+OK\r\n")
	defer close(release)
	target := newScriptedNode(t, play)
	source := newScriptedNode(t, func(c *chaos.ScriptedConn, r chaos.ScriptedRequest) error {
		_, err := fmt.Fprintf(c, "-ASK %d %s\r\n", redisclusterutil.Slot("key"), target.Addr())
		return err
	})
	arrived := func() int { return seen(target, "INCR") + seen(target, "ASKING") }
	longest := func(send func(context.Context, redis.SyncCtx) any) (redis.Stage, bool) {
		source.serve(source.Addr())
		c, _ := connect(t, []string{source.Addr()}, patient)
		source.serve(target.Addr()) // which confirms the redirect
		before, began := arrived(), time.Now()
		result, cancel := start(func(ctx context.Context) any { return send(ctx, redis.SyncCtx{S: c}) })
		await(t, "the redirect", func() bool { return arrived() > before })
		awaitMostOnWire(t, began)
		cancel()
		d, known := redis.DelayOf(redis.AsError(<-result))
		return d.Longest(), known
	}
	for name, send := range ways {
		if name == "SendTransaction" { // its requests are only queued, so they get no redirect
			continue
		}
		stage, known := longest(send)
		for range 10 { // the server may get the request before the sender has recorded its stage
			if known {
				break
			}
			stage, known = longest(send)
		}
		require.True(t, known, name)
		if stage != redis.StageReading { // otherwise it was still reading answers about the slots, which the batch asks for first
			require.Equal(t, redis.StageWire, stage, name)
		}
	}
}

// The caller leaves while the node that a redirect named has the request.
func TestCancelAfterRedirect(t *testing.T) {
	for _, code := range []string{"MOVED", "ASK"} {
		for name, send := range ways {
			t.Run(code+", "+name, func(t *testing.T) {
				play, release := holding("+OK\r\n")
				target := newScriptedNode(t, play)
				source := newScriptedNode(t, func(c *chaos.ScriptedConn, r chaos.ScriptedRequest) error {
					reply := fmt.Sprintf("-%s %d %s\r\n", code, redisclusterutil.Slot("key"), target.Addr())
					if r.Cmd == "EXEC" {
						reply = "-EXECABORT Transaction discarded because of previous errors.\r\n"
					}
					_, err := c.Write([]byte(reply))
					return err
				})
				c, _ := connect(t, []string{source.Addr()}, patient)
				source.serve(target.Addr()) // which confirms the redirect
				result, cancel := start(func(ctx context.Context) any { return send(ctx, redis.SyncCtx{S: c}) })
				arrived := func() int { return seen(target, "INCR") + seen(target, "ASKING") + seen(target, "MULTI") }
				await(t, "the redirect", func() bool { return arrived() > 0 })
				cancel()
				res := <-result
				requireCancelled(t, res, false)
				close(release)
				require.Equal(t, "OK", redis.Sync{S: c}.Do("GET", "key"))
				assert.LessOrEqual(t, seen(target, "INCR"), 1)
			})
		}
	}
}

// A deaf caller (see package redis) ignores its context until its connection tells it to listen. If a redirect
// sends the request to a connection that never tells callers, the caller still notices the end of its context.
func TestCancelAfterRedirectToFarNode(t *testing.T) {
	hold := make(chan struct{})
	target := newScriptedNode(t, func(c *chaos.ScriptedConn, r chaos.ScriptedRequest) error {
		if r.Cmd == "INCR" {
			<-hold
		} else {
			time.Sleep(5 * time.Millisecond)
		}
		_, err := c.Write([]byte("+OK\r\n"))
		return err
	})
	defer close(hold)
	source := newScriptedNode(t, func(c *chaos.ScriptedConn, _ chaos.ScriptedRequest) error {
		_, err := fmt.Fprintf(c, "-MOVED %d %s\r\n", redisclusterutil.Slot("key"), target.Addr())
		return err
	})
	source.serve(target.Addr(), source.Addr()) // the slot of "key" is in the second half, that of "hello" in the first
	target.serve(target.Addr(), source.Addr())
	opts := patient
	opts.HostOpts.Integrity = true // so callers do not read replies: a caller that has read replies listens to its context
	c, _ := connect(t, []string{source.Addr()}, opts)
	for range 20 { // the target answers slowly, so its queue does not tell callers to listen
		require.Equal(t, "OK", redis.Sync{S: c}.Do("GET", "hello"))
	}
	for range 10 { // several times, because the first connection may happen to be slow and tell the caller to listen
		ctx, cancel := context.WithTimeout(t.Context(), 15*time.Millisecond)
		res := redis.SyncCtx{S: c}.Do(ctx, "INCR", "key")
		cancel()
		require.True(t, redis.CausedBy(redis.AsError(res), context.DeadlineExceeded), "%v", res)
	}
}
