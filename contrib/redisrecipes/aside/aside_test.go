package aside

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe"
	"github.com/joomcode/redispipe/contrib/redisrecipes/internal/lease"
	"github.com/joomcode/redispipe/internal/lab/virtualtime"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscache"
	"github.com/joomcode/redispipe/redispubsub"
	"github.com/joomcode/redispipe/redistest"
	"github.com/joomcode/redispipe/redistest/chaos"
	"github.com/joomcode/redispipe/testbed"
)

// patience bounds waits for a server, and is the length of leases that must not expire. It is longer than any
// pause of a busy machine.
const patience = time.Minute

// defaults holds options with which no entry or lease ends during a test.
var defaults = Opts{TTL: time.Hour, RetryAfter: time.Hour, Lease: patience}

func open(t *testing.T, addr string) *redispipe.Client {
	t.Helper()
	client, err := redispipe.Open(context.Background(), "redis://"+addr, redispipe.Logger(nil))
	require.NoError(t, err)
	t.Cleanup(client.Close)
	return client
}

func cache(t *testing.T, addr string, opts Opts) *Cache {
	t.Helper()
	c, err := New(open(t, addr), opts)
	require.NoError(t, err)
	return c
}

// loader is a loader that counts its calls. Each call returns its number. Calls must not overlap.
type loader struct {
	calls, running atomic.Int32
	err            error
}

func (l *loader) load(context.Context) ([]byte, error) {
	defer l.running.Add(-1)
	if l.running.Add(1) > 1 {
		return nil, errors.New("two at once")
	}
	return fmt.Append(nil, l.calls.Add(1)), l.err
}

// everywhere calls Get in many goroutines of several processes.
func everywhere(t *testing.T, addr string, opts Opts, get func(*Cache) ([]byte, error), check func([]byte, error)) {
	t.Helper()
	processes, callers := 4, 8
	if os.Getenv("REDISPIPE_LONG") != "" {
		processes, callers = 8, 128
	}
	var wg sync.WaitGroup
	var all []*Cache
	for range processes {
		c := cache(t, addr, opts)
		all = append(all, c)
		for range callers {
			wg.Go(func() { check(get(c)) })
		}
	}
	wg.Wait()
	for _, c := range all {
		require.Eventually(t, func() bool {
			c.mu.Lock()
			defer c.mu.Unlock()
			return len(c.flights)+len(c.refreshes) == 0
		}, patience, time.Millisecond)
	}
}

// An entry is loaded once for all callers of all processes.
func TestOneLoad(t *testing.T) {
	server := testbed.NewServer(t)
	var l loader
	everywhere(t, server.Addr(), defaults, func(c *Cache) ([]byte, error) {
		return c.Get(t.Context(), "a", l.load)
	}, func(value []byte, err error) {
		if string(value) != "1" || err != nil {
			t.Error(string(value), err)
		}
	})
	require.EqualValues(t, 1, l.calls.Load())
}

// A loader that fails, or finds nothing, is called once, and all callers get its error.
func TestOneFailure(t *testing.T) {
	server := testbed.NewServer(t)
	for _, failed := range []error{errors.New("failed"), fmt.Errorf("a row: %w", ErrNotFound)} {
		l := loader{err: failed}
		everywhere(t, server.Addr(), defaults, func(c *Cache) ([]byte, error) {
			return c.Get(t.Context(), failed.Error(), l.load)
		}, func(_ []byte, err error) {
			if !errors.Is(err, failed) && !errors.Is(err, ErrLoad) && !errors.Is(err, ErrNotFound) {
				t.Error(err)
			}
		})
		require.EqualValues(t, 1, l.calls.Load())
		left, err := redis.As[int64](server.Do("PTTL", "aside:{"+failed.Error()+"}:lease"))
		require.NoError(t, err)
		if errors.Is(failed, ErrNotFound) {
			left, err = redis.As[int64](server.Do("PTTL", "aside:{"+failed.Error()+"}"))
			require.NoError(t, err)
		}
		require.Positive(t, left, "it is tried again later")
	}
}

// If the caller that loads an entry leaves, or its loader panics, a waiting caller loads the entry at once.
func TestTheLoaderLeaves(t *testing.T) {
	server := testbed.NewServer(t)
	for _, processes := range []int{1, 2} {
		for _, panics := range []bool{false, true} {
			key := fmt.Sprint(processes, panics)
			caches := []*Cache{cache(t, server.Addr(), defaults)}
			if processes == 2 {
				caches = append(caches, cache(t, server.Addr(), defaults))
			}
			ctx, cancel := context.WithCancel(t.Context())
			begun, left := make(chan struct{}), make(chan any, 1)
			go func() {
				defer func() { left <- recover() }()
				_, err := caches[0].Get(ctx, key, func(ctx context.Context) ([]byte, error) {
					close(begun)
					<-ctx.Done()
					if panics {
						panic("a bug")
					}
					return nil, ctx.Err()
				})
				if !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			}()
			<-begun
			go cancel() // before the second caller waits, or while it does
			timed, done := context.WithTimeout(t.Context(), patience/2)
			value, err := caches[processes-1].Get(timed, key, func(context.Context) ([]byte, error) { return []byte("second"), nil })
			require.NoError(t, err, key)
			require.Equal(t, "second", string(value), key)
			require.Equal(t, panics, <-left != nil, key)
			done()
		}
	}
}

// age makes an entry older, as if it had been stored earlier.
func age(t *testing.T, server *testbed.Server, key string, by time.Duration) {
	t.Helper()
	raw, err := redis.As[[]byte](server.Do("GET", "aside:{"+key+"}"))
	require.NoError(t, err)
	e, err := parse(raw)
	require.NoError(t, err)
	old := fmt.Appendf(nil, "%c%015d%s", e.kind, e.made.Add(-by).UnixMilli(), e.value)
	require.NoError(t, redis.Err(server.Do("SET", "aside:{"+key+"}", old, "KEEPTTL")))
}

// Get returns an old entry at once while one caller among all processes loads it again. If loading fails, Get keeps
// returning the old entry, and there is a pause before the next attempt.
func TestRefresh(t *testing.T) {
	server := testbed.NewServer(t)
	var l loader
	first := cache(t, server.Addr(), defaults)
	value, err := first.Get(t.Context(), "a", l.load)
	require.NoError(t, err)
	require.Equal(t, "1", string(value))

	age(t, server, "a", 50*time.Minute)
	failed := loader{err: errors.New("failed")}
	everywhere(t, server.Addr(), defaults, func(c *Cache) ([]byte, error) {
		return c.Get(t.Context(), "a", failed.load)
	}, func(value []byte, err error) {
		if string(value) != "1" || err != nil {
			t.Error(string(value), err)
		}
	})
	leased := func() string {
		owner, err := redis.As[string](server.Do("GETRANGE", "aside:{a}:lease", 0, -1))
		require.NoError(t, err)
		return owner
	}
	require.Eventually(t, func() bool { return leased() == "failed" }, patience, time.Millisecond)
	require.EqualValues(t, 1, failed.calls.Load())

	server.Do("DEL", "aside:{a}:lease") // as if RetryAfter had passed
	_, err = cache(t, server.Addr(), defaults).Get(t.Context(), "a", l.load)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		value, err := first.Get(t.Context(), "a", l.load)
		return err == nil && string(value) == "2" && leased() == ""
	}, patience, time.Millisecond)
	require.EqualValues(t, 2, l.calls.Load())
}

// An entry that is older than TTL is loaded again, even if it is still stored. Opts.Memory, or a process with another
// TTL, may keep it for longer.
func TestTooOld(t *testing.T) {
	server := testbed.NewServer(t)
	var l loader
	c := cache(t, server.Addr(), defaults)
	for _, wanted := range []string{"1", "2"} {
		value, err := c.Get(t.Context(), "a", l.load)
		require.NoError(t, err)
		require.Equal(t, wanted, string(value))
		age(t, server, "a", defaults.TTL)
	}
}

func TestDelete(t *testing.T) {
	server := testbed.NewServer(t)
	c, other := cache(t, server.Addr(), defaults), cache(t, server.Addr(), defaults)
	value, err := c.Get(t.Context(), "a", func(context.Context) ([]byte, error) {
		return []byte("old"), other.Delete(t.Context(), "a") // while the entry is being loaded
	})
	require.NoError(t, err)
	require.Equal(t, "old", string(value))
	var l loader
	for range 2 {
		value, err = c.Get(t.Context(), "a", l.load)
		require.NoError(t, err)
		require.Equal(t, "1", string(value))
	}
	require.NoError(t, other.Delete(t.Context(), "a"))
	value, err = c.Get(t.Context(), "a", l.load)
	require.NoError(t, err)
	require.Equal(t, "2", string(value))
}

// mocked is a client that needs no subscriptions.
type mocked struct{ *redistest.Mock }

func (mocked) Subscriber() *redispubsub.Subscriber { return nil }

// A caller that calls Get after Delete gets a value that was loaded after Delete, even if an earlier
// loader still runs.
func TestDeleteBesideALoader(t *testing.T) {
	virtualtime.Run(t, func(t *testing.T) {
		mock := redistest.NewMock(t)
		c, err := New(mocked{mock}, defaults)
		require.NoError(t, err)
		miss := func() { mock.Expect("GET", "aside:{a}").Reply(nil) }
		script := func(answer any) { mock.Expect("EVALSHA", redistest.Rest).Reply(answer) }
		claimed := []any{int64(granted), int64(0)}
		var callers sync.WaitGroup
		get := func(wanted string, load Load) {
			callers.Go(func() {
				value, err := c.Get(t.Context(), "a", load)
				if string(value) != wanted || err != nil {
					t.Error(string(value), err)
				}
			})
			synctest.Wait()
		}
		deleted := make(chan struct{})
		miss()
		script(claimed)
		get("old", func(context.Context) ([]byte, error) {
			<-deleted
			return []byte("old"), nil
		})
		script(int64(1))
		require.NoError(t, c.Delete(t.Context(), "a"))
		miss()
		get("new", func(context.Context) ([]byte, error) { return []byte("new"), nil })
		script(int64(0)) // the old value is not stored
		miss()
		script(claimed)
		script(int64(1))
		close(deleted)
		callers.Wait()
	})
}

// If the first answer to a claim is lost, the second one decides what Get returns.
func TestTheSecondAnswer(t *testing.T) {
	for wanted, answer := range map[error][]any{
		ErrLoad:     {int64(failing), int64(1000)},
		ErrNotFound: {int64(kept), fmt.Appendf(nil, "%c%015d", notFound, 0)},
	} {
		virtualtime.Run(t, func(t *testing.T) {
			mock := redistest.NewMock(t)
			c, err := New(mocked{mock}, defaults)
			require.NoError(t, err)
			mock.Expect("GET", "aside:{a}").Reply(nil)
			mock.Expect("EVALSHA", redistest.Rest).Unknown()
			mock.Expect("EVALSHA", redistest.Rest).Reply(answer)
			_, err = c.Get(t.Context(), "a", new(loader).load)
			require.ErrorIs(t, err, wanted)
		})
	}
}

// Get returns an error, instead of waiting, if another program has written the key of the lease.
func TestAForeignLease(t *testing.T) {
	server := testbed.NewServer(t)
	server.Do("SET", "aside:{a}:lease", "b")
	_, err := cache(t, server.Addr(), defaults).Get(t.Context(), "a", new(loader).load)
	require.ErrorIs(t, err, lease.ErrAnswer)
}

// With Opts.Memory, the memory of the process is the first level of the cache.
func TestMemory(t *testing.T) {
	server := testbed.NewServer(t)
	client := open(t, server.Addr())
	memory, err := rediscache.New(client, rediscache.Opts{Prefixes: []string{"aside:"}, MaxAge: time.Hour})
	require.NoError(t, err)
	opts := defaults
	opts.Memory = memory
	c, err := New(client, opts)
	require.NoError(t, err)
	other := cache(t, server.Addr(), defaults)
	var l loader
	require.Eventually(t, func() bool { // the tracker connects in the background
		value, err := c.Get(t.Context(), "a", l.load)
		return err == nil && string(value) == "1" && memory.Stats().Hits > 10
	}, patience, time.Millisecond)
	require.EqualValues(t, 1, l.calls.Load())
	require.NoError(t, other.Delete(t.Context(), "a"))
	require.Eventually(t, func() bool {
		value, err := c.Get(t.Context(), "a", l.load)
		return err == nil && string(value) == "2"
	}, patience, time.Millisecond)
}

// The connection is cut before or after each request of a call in turn. Each time the entry is loaded once, and its
// value is kept.
func TestCuts(t *testing.T) {
	server := testbed.NewServer(t)
	other := cache(t, server.Addr(), defaults)
	for _, on := range []chaos.Direction{chaos.Requests, chaos.Replies} {
		for step := range 2 { // the request for the lease, and the one that stores the value
			name := fmt.Sprint(on, step)
			proxy := chaos.NewProxy(t, server.Addr(), chaos.ProxyOpts{})
			c := cache(t, proxy.Addr(), defaults)
			_, err := c.Get(t.Context(), name+" before", func(context.Context) ([]byte, error) { return nil, nil })
			require.NoError(t, err) // now the server has the scripts, so EVALSHA succeeds at once
			var seen atomic.Int32
			armed := proxy.Arm(chaos.Fault{Do: chaos.Cut, On: on, At: chaos.AtRequest(func(request []byte) bool {
				return bytes.Contains(request, []byte("EVAL")) && seen.Add(1) == int32(step+1)
			})})
			var l loader
			value, err := c.Get(t.Context(), name, l.load)
			require.NoError(t, err, name)
			require.Equal(t, "1", string(value), name)
			require.Equal(t, 1, armed.Fired(), name)
			timed, cancel := context.WithTimeout(t.Context(), patience/2)
			value, err = other.Get(timed, name, l.load)
			cancel()
			require.NoError(t, err, name)
			require.Equal(t, "1", string(value), name)
		}
	}
}
