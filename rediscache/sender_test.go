package rediscache

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/testbed"
)

// recorder is a hook that records the operations and their ends.
type recorder struct {
	mu   sync.Mutex
	ends []redis.Completion
	ops  []redis.Operation
}

func (r *recorder) Before(context.Context, redis.Operation) context.Context { return nil }

func (r *recorder) After(_ context.Context, op redis.Operation, end redis.Completion) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ends, r.ops = append(r.ends, end), append(r.ops, op)
}

func (r *recorder) take() []redis.Completion {
	r.mu.Lock()
	defer r.mu.Unlock()
	ends := r.ends
	r.ends = nil
	return ends
}

// Both hooks around the cache and hooks of the client that it wraps learn which requests were answered from
// memory.
func TestHooks(t *testing.T) {
	t.Parallel()
	server := testbed.NewServer(t)
	inner, outer := &recorder{}, &recorder{}
	client, err := redispipe.Open(t.Context(), "redis://"+server.Addr()+"?read_timeout=60s", redispipe.Hooks(inner))
	require.NoError(t, err)
	c := cacheOf(t, client, all)
	awaitLeases(t, c)
	db := redis.SyncCtx{S: redis.WithHook(c, outer)}
	for i := range 3 {
		var v string
		require.ErrorIs(t, db.DoInto(t.Context(), &v, "GET", "key"), redis.Nil)
		for _, hook := range []*recorder{inner, outer} {
			ends := hook.take()
			require.Len(t, ends, 1)
			assert.Equal(t, i > 0, ends[0].Cached)
			assert.Equal(t, redis.OutcomeValue, ends[0].Outcome)
			if i == 0 {
				assert.Equal(t, server.Addr(), ends[0].Address)
			} else {
				assert.Empty(t, ends[0].Address)
			}
		}
	}
	must(t, c.Do(t.Context(), "SET", "key", 1))
	assert.False(t, inner.take()[0].Cached)
}

// In a batch with a write, no request after the write is answered from memory, and the requests
// stay in order.
func TestSendManyWithWrites(t *testing.T) {
	t.Parallel()
	r := newRig(t, all)
	must(t, r.cache.Do(t.Context(), "SET", "key", 0))
	for i := range 50 {
		get(t, r.cache, "key")
		results := r.cache.DoMany(t.Context(), []redis.Request{
			redis.Req("GET", "key"), redis.Req("GET", "other"), redis.Req("INCR", "key"), redis.Req("GET", "key"), redis.Req("GET", "other"),
		})
		require.NoError(t, redis.FirstError(results))
		before, after := []byte{}, []byte{}
		before, after = appendInt(before, i), appendInt(after, i+1)
		require.Equal(t, []any{before, nil, int64(i + 1), after, nil}, results)
	}
}

func appendInt(b []byte, n int) []byte {
	text, _ := redis.ArgToString(n)
	return append(b, text...)
}

// If a request of a batch is malformed, the whole batch is refused, and nothing is sent.
func TestMalformed(t *testing.T) {
	t.Parallel()
	r := newRig(t, all)
	get(t, r.cache, "key")
	for _, bad := range []redis.Request{redis.Req("GET", struct{}{}), redis.Req("BLPOP", "list", 0), redis.Req("SUBSCRIBE", "c")} {
		results := r.cache.DoMany(t.Context(), []redis.Request{redis.Req("GET", "key"), bad, redis.Req("SET", "key", 1)})
		for i, res := range results {
			require.Equal(t, redis.OutcomeNotSent, redis.OutcomeOf(res), "%d of %v", i, bad)
		}
	}
	require.Equal(t, redis.OutcomeNotSent, redis.OutcomeOf(r.cache.Do(t.Context(), "GET", struct{}{})))
	require.Nil(t, get(t, r.cache, "key"))
}

// A user's future is resolved exactly once, for hits and for misses, no matter what the future does.
func TestFutures(t *testing.T) {
	t.Parallel()
	r := newRig(t, all)
	results := make(chan any, 10)
	take := redis.FuncFuture(func(res any, n uint64) { results <- n })
	for n := range uint64(3) {
		r.cache.Send(redis.Req("GET", "key"), take, n)
		require.Equal(t, n, <-results)
	}
	r.cache.SendMany([]redis.Request{redis.Req("GET", "key"), redis.Req("GET", "other")}, take, 5)
	require.ElementsMatch(t, []any{uint64(5), uint64(6)}, []any{<-results, <-results})
	r.cache.Send(redis.Req("GET", "third"), nil, 0)
	r.cache.Send(redis.Req("SET", "key", 1), nil, 0)
	require.Eventually(t, func() bool {
		value, _ := get(t, r.cache, "key").([]byte)
		return string(value) == "1"
	}, patient, time.Millisecond)
}

// wavers is a future whose Cancelled returns an error only the first time it is called.
type wavers struct {
	asked atomic.Int64
	ends  chan any
}

func (w *wavers) Cancelled() error {
	if w.asked.Add(1) == 1 {
		return context.Canceled
	}
	return nil
}

func (w *wavers) Resolve(res any, _ uint64) { w.ends <- res }

// acknowledges is a sender that resolves every request with OK, without a server.
type acknowledges struct{ redis.Sender }

func (acknowledges) Send(_ redis.Request, cb redis.Future, n uint64) { cb.Resolve("OK", n) }

func (acknowledges) SendMany(reqs []redis.Request, cb redis.Future, start uint64) {
	for i := range reqs {
		cb.Resolve("OK", start+uint64(i))
	}
}

// If Cancelled of a write's future first returns an error and then nil, the write may have been sent, so the
// cache evicts its keys.
func TestFutureThatWavers(t *testing.T) {
	t.Parallel()
	r := newRig(t, all)
	s := &sender{core: r.cache.core, to: acknowledges{r.cache.plain.to}, limits: r.cache.plain.limits}
	set := redis.Req("SET", "key", "value")
	for name, send := range map[string]func(cb redis.Future){
		"Send":     func(cb redis.Future) { s.Send(set, cb, 7) },
		"SendMany": func(cb redis.Future) { s.SendMany([]redis.Request{set}, cb, 7) },
	} {
		get(t, r.cache, "key")
		require.True(t, kept(t, r.cache, "GET", "key"))
		w := &wavers{ends: make(chan any, 1)}
		send(w)
		require.Equal(t, "OK", <-w.ends, name)
		require.False(t, kept(t, r.cache, "GET", "key"), name)
	}
}

// postpones is a sender that records futures, so that the test can resolve them later.
type postpones struct {
	redis.Sender
	sent chan redis.Future
}

func (p postpones) Send(_ redis.Request, cb redis.Future, _ uint64) { p.sent <- cb }

// If a caller leaves before its write is answered, the written keys are evicted when the reply
// comes.
func TestWriteWhoseCallerHasLeft(t *testing.T) {
	t.Parallel()
	r := newRig(t, all)
	to := postpones{r.cache.plain.to, make(chan redis.Future, 1)}
	s := &sender{core: r.cache.core, to: to, limits: r.cache.plain.limits}
	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan any, 1)
	go func() { left <- redis.SyncCtx{S: s}.Do(ctx, "SET", "key", "value") }()
	sent := <-to.sent
	cancel()
	require.ErrorIs(t, redis.Err(<-left), context.Canceled)
	get(t, r.cache, "key")
	require.True(t, kept(t, r.cache, "GET", "key"))
	sent.Resolve("OK", 0)
	require.False(t, kept(t, r.cache, "GET", "key"))
}

// panics is a logger that records the values with which futures have panicked.
type panics struct {
	redisconn.NoopLogger
	with chan any
}

func (p panics) Report(_ *redisconn.Connection, event redisconn.LogEvent) {
	if panicked, ok := event.(redisconn.LogFuturePanic); ok {
		p.with <- panicked.Value
	}
}

// If a future panics, wherever its result comes from, nothing else is affected, and the connection's logger
// gets the panic.
func TestFutureThatPanics(t *testing.T) {
	t.Parallel()
	logger := panics{with: make(chan any, 10)}
	c := cacheOf(t, connect(t, testbed.NewServer(t).Addr(), redisconn.Opts{IOTimeout: time.Minute, Logger: logger}), all)
	awaitLeases(t, c)
	var called atomic.Int64
	bad := redis.FuncFuture(func(_ any, n uint64) { called.Add(1); panic(n) })
	reqs := []redis.Request{redis.Req("GET", "key"), redis.Req("GET", "other")}
	ends := func(n ...any) {
		t.Helper()
		var with []any
		for range n {
			with = append(with, <-logger.with)
		}
		require.ElementsMatch(t, n, with)
	}
	c.Send(reqs[0], bad, 1) // a miss
	ends(uint64(1))
	c.Send(reqs[0], bad, 2) // a hit
	ends(uint64(2))
	c.SendMany(reqs, bad, 3) // a hit and a miss
	ends(uint64(3), uint64(4))
	c.SendMany(reqs, bad, 5) // hits
	ends(uint64(5), uint64(6))
	c.SendMany([]redis.Request{reqs[0], redis.Req("SWAPDB", 0, 1)}, bad, 7) // refused requests
	ends(uint64(7), uint64(8))
	require.EqualValues(t, 8, called.Load())
}

// If a future ends its goroutine, as t.FailNow does, the other requests of the SendMany still get their
// results.
func TestFutureThatEndsTheGoroutine(t *testing.T) {
	t.Parallel()
	r := newRig(t, all)
	reqs := []redis.Request{redis.Req("GET", "key"), redis.Req("GET", "other")}
	for _, res := range r.cache.DoMany(t.Context(), reqs) {
		require.NoError(t, redis.Err(res))
	}
	for _, reqs := range [][]redis.Request{reqs, {reqs[0], redis.Req("SWAPDB", 0, 1)}} {
		resolved := make(chan uint64, len(reqs))
		go r.cache.SendMany(reqs, redis.FuncFuture(func(_ any, n uint64) {
			resolved <- n
			runtime.Goexit()
		}), 0)
		require.ElementsMatch(t, []uint64{0, 1}, []uint64{<-resolved, <-resolved})
	}
}

// embeds is a user's decorator.
type embeds struct{ *redisconn.Connection }

type embedsCache struct{ *Cache }

// A decorator's own methods are called, and not those of the sender that it embeds.
func TestDecorators(t *testing.T) {
	t.Parallel()
	server := testbed.NewServer(t)
	conn := connect(t, server.Addr(), redisconn.Opts{})
	_, err := New(embeds{conn}, all)
	require.ErrorContains(t, err, "rediscache.embeds")
	c := cacheOf(t, conn, all)
	_, known := send.Inside(embedsCache{c})
	assert.False(t, known)
	require.NoError(t, redis.Err(redis.SyncCtx{S: embedsCache{c}}.Do(t.Context(), "SET", "key", 1)))
}

// New refuses a connection with ScriptMode, because its user may change the state of the connection.
func TestScriptMode(t *testing.T) {
	t.Parallel()
	conn := connect(t, testbed.NewServer(t).Addr(), redisconn.Opts{ScriptMode: true})
	_, err := New(conn, all)
	require.ErrorContains(t, err, "ScriptMode")
	require.NoError(t, redis.Err(redis.SyncCtx{S: conn}.Do(t.Context(), "PING")))
}

// After Close, requests fail, and no goroutine is left.
func TestClose(t *testing.T) {
	t.Parallel()
	r := newRig(t, all)
	get(t, r.cache, "key")
	r.cache.Close()
	require.Eventually(t, func() bool {
		return redis.AsError(r.cache.Do(t.Context(), "GET", "key")) != nil
	}, patient, time.Millisecond)
	require.Equal(t, redis.OutcomeNotSent, redis.OutcomeOf(r.cache.Do(t.Context(), "GET", "key")))
}

// After Close the cache answers nothing from memory, even if the lease was just renewed.
func TestCloseEndsLeases(t *testing.T) {
	t.Parallel()
	r := newRig(t, all)
	for range 20 {
		cache := cacheOf(t, connect(t, r.server.Addr(), redisconn.Opts{}), all)
		awaitLeases(t, cache)
		get(t, cache, "key")
		cache.Close()
		require.Error(t, redis.AsError(cache.Do(t.Context(), "GET", "key")))
	}
}

// If only the wrapped client is closed, readers get its error long before a lease would expire.
func TestInnerCloseEndsLeases(t *testing.T) {
	t.Parallel()
	r := newRig(t, all)
	conn := connect(t, r.server.Addr(), redisconn.Opts{IOTimeout: time.Hour})
	cache := cacheOf(t, conn, all)
	awaitLeases(t, cache)
	get(t, cache, "key")
	require.True(t, kept(t, cache, "GET", "key"))
	conn.Close()
	require.Eventually(t, func() bool {
		return redis.OutcomeOf(cache.Do(t.Context(), "GET", "key")) == redis.OutcomeNotSent
	}, patient, time.Millisecond)
	require.Zero(t, cache.Stats().Leases)
}

// With redis.WithJoin around a cache, reads are answered from memory, and the caller's own writes are seen.
func TestJoinAroundCache(t *testing.T) {
	t.Parallel()
	r := newRig(t, all)
	seen := &recorder{}
	db := redis.SyncCtx{S: redis.WithHook(redis.WithJoin(r.cache), seen)}
	for i := range 3 {
		must(t, db.Do(t.Context(), "SET", "key", i))
		var readers sync.WaitGroup
		for range 8 {
			readers.Go(func() {
				for range 3 {
					v, err := redis.DoAs[int](t.Context(), db.S, "GET", "key")
					assert.NoError(t, err)
					assert.Equal(t, i, v)
				}
			})
		}
		readers.Wait()
	}
	hits := 0
	for _, end := range seen.take() {
		if end.Cached {
			hits++
		}
	}
	assert.Positive(t, hits)
}

// With redis.WithPrefix around a cache, reads are answered from memory, and the caller's own writes are seen.
func TestPrefixAroundCache(t *testing.T) {
	t.Parallel()
	r := newRig(t, all)
	seen := &recorder{}
	one := redis.SyncCtx{S: redis.WithHook(redis.WithPrefix(r.cache, "t1:"), seen)}
	for i := range 3 {
		must(t, one.Do(t.Context(), "SET", "key", i))
		for range 2 {
			v, err := redis.As[int](one.Do(t.Context(), "GET", "key"))
			require.NoError(t, err)
			require.Equal(t, i, v)
		}
		must(t, one.Do(t.Context(), "MGET", "key", "other"))
	}
	hits := 0
	for _, end := range seen.take() {
		if end.Cached {
			hits++
		}
	}
	assert.Positive(t, hits)
	for _, s := range []redis.Sender{nil, (*redisconn.Connection)(nil)} {
		_, err := New(s, Opts{})
		assert.True(t, redis.AsErrorx(err).IsOfType(ErrNoServers), "%v", err)
		assert.ErrorContains(t, err, "the sender is nil")
	}
	_, err := New(redis.WithPrefix(r.other.S, "t1:"), Opts{})
	assert.ErrorContains(t, err, "a sender of redis.WithPrefix is not a connection, cluster or Client: make the cache of one of them, and wrap the cache instead")
}
