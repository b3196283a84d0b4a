package lock

import (
	"bytes"
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redistest/chaos"
	"github.com/joomcode/redispipe/testbed"
)

// patience bounds waits for a server, and is the TTL of locks that must not expire. It is longer than any
// pause of a busy machine.
const patience = time.Minute

func open(t *testing.T, addr string) *redispipe.Client {
	t.Helper()
	client, err := redispipe.Open(context.Background(), "redis://"+addr, redispipe.Logger(nil))
	require.NoError(t, err)
	t.Cleanup(client.Close)
	return client
}

func locker(t *testing.T, addr string, ttl time.Duration) *Locker {
	t.Helper()
	l, err := New(open(t, addr), Opts{TTL: ttl})
	require.NoError(t, err)
	return l
}

// Many goroutines of several processes take turns, and their tokens grow.
func TestOneHolder(t *testing.T) {
	server := testbed.NewServer(t)
	var holders atomic.Int32
	var mu sync.Mutex
	var tokens []int64
	var callers sync.WaitGroup
	for range 4 {
		l := locker(t, server.Addr(), patience)
		for range 8 {
			callers.Go(func() {
				held, err := l.Lock(t.Context(), "a")
				if err != nil {
					t.Error(err)
					return
				}
				if n := holders.Add(1); n != 1 || held.Context().Err() != nil {
					t.Error(n, "holders", held.Context().Err())
				}
				mu.Lock()
				tokens = append(tokens, held.Token())
				mu.Unlock()
				holders.Add(-1)
				if err := held.Unlock(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
	}
	callers.Wait()
	require.Len(t, tokens, 32)
	require.IsIncreasing(t, tokens)
	left, err := redis.As[int64](server.Do("PTTL", "lock:a"))
	require.NoError(t, err)
	require.Positive(t, left, "what nobody uses expires")
}

func TestTryLock(t *testing.T) {
	server := testbed.NewServer(t)
	l := locker(t, server.Addr(), patience)
	first, err := l.TryLock(t.Context(), "a")
	require.NoError(t, err)
	_, err = l.TryLock(t.Context(), "a")
	require.ErrorIs(t, err, ErrHeld)
	_, err = l.TryLock(t.Context(), "")
	require.ErrorIs(t, err, ErrKey)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = l.Lock(ctx, "a")
	require.ErrorIs(t, err, context.Canceled)

	require.NoError(t, first.Context().Err())
	require.NoError(t, first.Unlock(t.Context()))
	require.NoError(t, first.Unlock(t.Context()), "once more")
	require.Equal(t, ErrUnlocked, context.Cause(first.Context()))
	second, err := l.TryLock(t.Context(), "a")
	require.NoError(t, err)
	require.Greater(t, second.Token(), first.Token())

	// If the server loses its data, as a failover may, the holder learns that it has lost the lock, and tokens still grow.
	server.Do("FLUSHALL")
	require.ErrorIs(t, second.Unlock(t.Context()), ErrLost)
	require.ErrorIs(t, second.Unlock(t.Context()), ErrLost, "once more")
	third, err := l.TryLock(t.Context(), "a")
	require.NoError(t, err)
	require.Greater(t, third.Token(), second.Token())
	require.NoError(t, third.Unlock(t.Context()))

	// Another program has written the keys.
	server.Do("SET", "lock:b", "c")
	_, err = l.Lock(t.Context(), "b")
	require.ErrorIs(t, err, redis.ErrRefused)
	server.Do("HSET", "lock:c", "value", "d")
	_, err = l.Lock(t.Context(), "c")
	require.Error(t, err)
}

func isScript(request []byte) bool { return bytes.Contains(request, []byte("EVAL")) }

// If the answer to a request for a lock is lost, Lock asks again and gets the lock; TryLock releases it.
func TestTheGrantIsLost(t *testing.T) {
	server := testbed.NewServer(t)
	proxy := chaos.NewProxy(t, server.Addr(), chaos.ProxyOpts{})
	l, other := locker(t, proxy.Addr(), patience), locker(t, server.Addr(), patience)
	cut := func() *chaos.Armed {
		return proxy.Arm(chaos.Fault{Do: chaos.Cut, On: chaos.Replies, At: chaos.AtRequest(isScript)})
	}

	cut()
	first, err := l.Lock(t.Context(), "a")
	require.NoError(t, err)
	_, err = other.TryLock(t.Context(), "a")
	require.ErrorIs(t, err, ErrHeld)
	cut()
	require.NoError(t, first.Unlock(t.Context()), "the answer to the first request was lost")

	cut()
	_, err = l.TryLock(t.Context(), "a")
	require.ErrorIs(t, err, redis.ErrUnknown)
	ctx, cancel := context.WithTimeout(t.Context(), patience/2)
	defer cancel()
	second, err := other.Lock(ctx, "a")
	require.NoError(t, err, "TryLock releases what it may have got")
	require.NoError(t, second.Unlock(t.Context()))
}

// If a caller's context ends before the answer that grants the lock arrives, the lock is released.
func TestTheCallerLeaves(t *testing.T) {
	server := testbed.NewServer(t)
	proxy := chaos.NewProxy(t, server.Addr(), chaos.ProxyOpts{})
	l, other := locker(t, proxy.Addr(), patience), locker(t, server.Addr(), patience)
	held, err := l.Lock(t.Context(), "a")
	require.NoError(t, err)
	require.NoError(t, held.Unlock(t.Context())) // now the server has the scripts, so EVALSHA succeeds at once

	armed := proxy.Arm(chaos.Fault{Do: chaos.Swallow, On: chaos.Replies, At: chaos.AtRequest(isScript)})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-armed.First()
		cancel()
	}()
	_, err = l.Lock(ctx, "a")
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, err, redis.ErrUnknown)
	proxy.Heal()
	ctx, cancel = context.WithTimeout(t.Context(), patience/2)
	defer cancel()
	next, err := other.Lock(ctx, "a")
	require.NoError(t, err)
	require.NoError(t, next.Unlock(t.Context()))
}

// store plays a store that checks tokens: it accepts a write only if its token is not smaller than the greatest one
// so far.
var store = redis.NewScript(`
if tonumber(redis.call('GET', KEYS[1]) or 0) > tonumber(ARGV[1]) then return 0 end
redis.call('SET', KEYS[1], ARGV[1])
return 1
`)

// A holder is cut off from the server and continues as if it still had the lock. By the time that another holder has
// the lock, the context of the first has ended, and the store refuses its token.
func TestStaleHolders(t *testing.T) {
	server := testbed.NewServer(t)
	proxy := chaos.NewProxy(t, server.Addr(), chaos.ProxyOpts{})
	l, other := locker(t, proxy.Addr(), 300*time.Millisecond), locker(t, server.Addr(), patience)
	writes := open(t, server.Addr())
	write := func(token int64) bool {
		taken, err := redis.As[bool](store.Do(t.Context(), writes, []string{"store"}, token))
		require.NoError(t, err)
		return taken
	}
	for range 3 {
		stale, err := l.Lock(t.Context(), "a")
		require.NoError(t, err)
		require.True(t, write(stale.Token()))
		proxy.Arm(chaos.Fault{Do: chaos.Swallow, On: chaos.Requests, At: chaos.AtRequest(isScript), Times: -1})
		next, err := other.Lock(t.Context(), "a")
		require.NoError(t, err)
		require.Error(t, stale.Context().Err())
		require.Equal(t, ErrLost, context.Cause(stale.Context()))
		require.True(t, write(next.Token()))
		require.False(t, write(stale.Token()))
		proxy.Heal()
		require.ErrorIs(t, stale.Unlock(t.Context()), ErrLost)
		require.NoError(t, next.Unlock(t.Context()))
	}
}

func TestInvalidOptions(t *testing.T) {
	for _, ttl := range []time.Duration{-1, time.Millisecond, 2 * time.Hour} {
		_, err := New(new(redispipe.Client), Opts{TTL: ttl})
		require.ErrorIs(t, err, ErrOpts)
		require.ErrorContains(t, err, "TTL is")
	}
	for _, client := range []Client{nil, (*redispipe.Client)(nil), new(redispipe.Client)} {
		_, err := New(client, Opts{})
		require.ErrorIs(t, err, ErrOpts)
	}
}
