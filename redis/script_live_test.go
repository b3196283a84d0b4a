package redis_test

import (
	"context"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/conntest"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/testbed"
)

func connectTo(t testing.TB, addr string) *redisconn.Connection {
	t.Helper()
	return connectBy(t, addr, 0)
}

// connectBy connects with a version of the protocol.
func connectBy(t testing.TB, addr string, protocol int) *redisconn.Connection {
	t.Helper()
	return conntest.Connect(t, addr, redisconn.Opts{Protocol: protocol})
}

// push is a script that appends to a list and returns the list's length.
const push = `return redis.call('RPUSH', KEYS[1], ARGV[1])`

// liveFor returns how long the tests run that keep breaking something. The environment variable
// REDISPIPE_SOAK sets it, to a duration such as 10m.
func liveFor(t testing.TB) time.Duration {
	text := os.Getenv("REDISPIPE_SOAK")
	if text == "" {
		return time.Second
	}
	d, err := time.ParseDuration(text)
	require.NoError(t, err)
	return d
}

// flushing flushes the scripts of a server every 10 ms, until the test ends it.
func flushing(t testing.TB, server *testbed.Server) (stop func()) {
	done := make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(10 * time.Millisecond):
				server.Do("SCRIPT", "FLUSH")
			}
		}
	})
	stop = sync.OnceFunc(func() {
		close(done)
		group.Wait()
	})
	t.Cleanup(stop)
	return stop
}

// pushAll starts 64 goroutines. Each appends numbers to its own list, singly, in batches and in
// transactions, until the time is over. Each list must contain all numbers in order.
func pushAll(t *testing.T, db redis.Sender) {
	script := redis.NewScript(push)
	with := redis.SyncCtx{S: redis.WithScripts(db, script)}
	ctx, cancel := context.WithTimeout(t.Context(), liveFor(t))
	defer cancel()
	var missed, ran atomic.Int64
	check := func(err error) {
		if failure := redis.AsErrorx(err); failure != nil && failure.IsOfType(redis.ErrNoScript) {
			missed.Add(1)
		} else if err == nil {
			ran.Add(1)
		}
	}
	var group sync.WaitGroup
	for g := range 64 {
		keys := []string{fmt.Sprint("list:", g)}
		group.Go(func() {
			for i := 0; ctx.Err() == nil; i += 4 {
				var n int
				err := script.DoInto(t.Context(), db, &n, keys, i)
				check(err)
				if err != nil || n != i+1 {
					t.Errorf("push %d: %d, %v", i, n, err)
				}
				check(redis.AsError(script.Do(t.Context(), db, keys, i+1)))
				for _, res := range with.SendMany(t.Context(), []redis.Request{script.Request(keys, i+2)}) {
					check(redis.AsError(res))
				}
				results, err := with.SendTransaction(t.Context(), []redis.Request{
					redis.Req("LLEN", keys[0]), script.Request(keys, i+3), script.Request([]string{"{" + keys[0] + "}2"}, 0),
				})
				check(err)
				for _, res := range results {
					check(redis.AsError(res))
				}
			}
		})
	}
	group.Wait()
	assert.Zero(t, missed.Load(), "NOSCRIPT reached a caller")
	assert.NotZero(t, ran.Load())
	for g := range 64 {
		list, err := redis.As[[]int](redis.Sync{S: db}.Do("LRANGE", fmt.Sprint("list:", g), 0, -1))
		require.NoError(t, err)
		for i, n := range list {
			require.Equal(t, i, n, "order is kept")
		}
	}
}

func TestScriptFlushing(t *testing.T) {
	t.Parallel()
	server := testbed.NewServer(t)
	conn := connectTo(t, server.Addr())
	stop := flushing(t, server)
	pushAll(t, conn)
	stop()

	// Calls that get NOSCRIPT at the same time share one load of the body.
	server.Do("SCRIPT", "FLUSH")
	server.Do("CONFIG", "RESETSTAT")
	script := redis.NewScript(push)
	futures := redis.ChanFutured{S: redis.WithScripts(conn, script)}
	var all []*redis.ChanFuture
	for i := range 1000 {
		all = append(all, futures.Send(script.Request([]string{"async"}, i)))
	}
	for _, future := range all {
		require.NoError(t, redis.AsError(future.Value()))
	}
	var stats string
	require.NoError(t, redis.Sync{S: conn}.DoInto(&stats, "INFO", "commandstats"))
	assert.Contains(t, stats, "cmdstat_eval:calls=1,", stats)
}

func TestScriptReadOnly(t *testing.T) {
	testbed.Needs(t, testbed.Version(7, 0))
	server := testbed.NewServer(t)
	conn := connectTo(t, server.Addr())
	server.Do("SET", "k", "v")
	get := redis.NewReadOnlyScript(`return redis.call('GET', KEYS[1])`)
	for range 2 {
		value, err := redis.As[string](get.Do(t.Context(), conn, []string{"k"}))
		require.NoError(t, err)
		assert.Equal(t, "v", value)
	}
	write := redis.NewReadOnlyScript(push)
	assert.Error(t, redis.AsError(write.Do(t.Context(), conn, []string{"l"}, 1)))
}

func TestScriptLoad(t *testing.T) {
	server := testbed.NewServer(t)
	conn := connectTo(t, server.Addr())
	script := redis.NewScript(push).ServerHash()
	require.NoError(t, script.Load(t.Context(), conn))
	assert.Equal(t, "EVALSHA", script.Request(nil).Cmd)
	assert.NoError(t, redis.AsError(script.Do(t.Context(), conn, []string{"l"}, 1)))
	assert.NoError(t, redis.NewScript(push).Load(t.Context(), conn), "both hashes are the same")
	assert.Error(t, redis.NewScript("no Lua").Load(t.Context(), conn))
}

// An error that a script or a function itself returns is its result. It does not run again.
func TestScriptThatSaysNoScript(t *testing.T) {
	t.Parallel()
	server := testbed.NewServer(t)
	conn := connectTo(t, server.Addr())
	runs := func() any { return server.Do("GETDEL", "runs") }
	const count = "redis.call('INCR', KEYS[1]) "
	ways := []string{"return redis.error_reply('NOSCRIPT of mine')"}
	functions, _ := testbed.Has(testbed.Version(7, 0))
	if functions { // older servers don't support error codes in functions
		ways = append(ways, "error({err='NOSCRIPT No matching script. Please use EVAL.'})")
	}
	for _, way := range ways {
		script := redis.NewScript(count + way)
		require.NoError(t, script.Load(t.Context(), conn))
		isType(t, redis.ErrNoScript.New(""), redis.AsError(script.Do(t.Context(), conn, []string{"runs"})))
		assert.Equal(t, []byte("1"), runs(), way)
		with := redis.SyncCtx{S: redis.WithScripts(conn, script)}
		for _, res := range with.SendMany(t.Context(), []redis.Request{script.Request([]string{"runs"})}) {
			isType(t, redis.ErrNoScript.New(""), redis.AsError(res))
		}
		assert.Equal(t, []byte("1"), runs(), way)
	}
	if !functions {
		return
	}
	lib := redis.NewLibrary("#!lua name=counters\nredis.register_function('count', function(KEYS) " + count +
		"return redis.error_reply('ERR Function not found: mine') end)")
	require.NoError(t, lib.Load(t.Context(), conn))
	assert.Error(t, redis.AsError(lib.Function("count").Do(t.Context(), conn, []string{"runs"})))
	assert.Equal(t, []byte("1"), runs())
}

func TestFunction(t *testing.T) {
	testbed.Needs(t, testbed.Version(7, 0))
	server := testbed.NewServer(t)
	conn := connectTo(t, server.Addr())
	lib := redis.NewLibrary(`#!lua name=lists
		redis.register_function('push', function(keys, args) return redis.call('RPUSH', keys[1], args[1]) end)
		redis.register_function{function_name='len', flags={'no-writes'}, callback=function(keys) return redis.call('LLEN', keys[1]) end}`)
	push, length := lib.Function("push"), lib.ReadOnlyFunction("len")
	var group sync.WaitGroup
	for range 64 {
		group.Go(func() {
			assert.NoError(t, redis.AsError(push.Do(t.Context(), conn, []string{"l"}, 1)))
		})
	}
	group.Wait()
	server.Do("FUNCTION", "FLUSH")
	var n int
	require.NoError(t, length.DoInto(t.Context(), conn, &n, []string{"l"}))
	assert.Equal(t, 64, n)
	require.NoError(t, lib.Load(t.Context(), conn))
	res := redis.SyncCtx{S: conn}.SendMany(t.Context(), []redis.Request{push.Request([]string{"l"}, 1)})
	assert.Equal(t, []any{int64(65)}, res)
	assert.Error(t, redis.AsError(lib.Function("none").Do(t.Context(), conn, nil)))
}

// On a server that has lost the script, a request with the body runs in a Watch and in a session,
// and a request without the body does not.
func TestRequestWithBody(t *testing.T) {
	t.Parallel()
	conn := connectTo(t, testbed.NewServer(t).Addr())
	script, keys := redis.NewScript(push), []string{"list"}
	watched := func(r redis.Request) ([]any, error) {
		return redis.Watch(t.Context(), conn, keys, func(tx *redis.Tx) error {
			require.NoError(t, redis.AsError(tx.Do("SCRIPT FLUSH")))
			tx.Queue(r)
			return nil
		})
	}
	_, err := watched(script.Request(keys, "a"))
	require.True(t, redis.AsErrorx(err).IsOfType(redis.ErrNoScript), "%v", err)
	results, err := watched(script.RequestWithBody(keys, "a"))
	require.NoError(t, err)
	require.Equal(t, []any{int64(1)}, results)

	require.NoError(t, redis.WithSession(t.Context(), conn, "list", func(s *redis.Session) error {
		require.NoError(t, redis.AsError(s.Do("SCRIPT FLUSH")))
		call := script.RequestWithBody(keys, "b")
		require.Equal(t, int64(2), s.Do(call.Cmd, call.Args...))
		require.NoError(t, redis.AsError(s.Do("SCRIPT FLUSH")))
		results, err := s.Transact([]redis.Request{script.RequestWithBody(keys, "c")})
		require.Equal(t, []any{int64(3)}, results)
		return err
	}))
}
