package redismirror_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redismirror"
	"github.com/joomcode/redispipe/redistest/ledger"
	"github.com/joomcode/redispipe/testbed"
)

// bed is a Mirror with its two servers.
type bed struct {
	*testing.T
	servers [2]*testbed.Server
	sides   [2]*redisconn.Connection
	m       *redismirror.Mirror
	db      redis.SyncCtx
}

func newBed(t *testing.T, opts redismirror.Opts) *bed {
	b := &bed{T: t}
	for i := range b.servers {
		b.servers[i] = testbed.NewServer(t)
		conn, err := redisconn.Connect(t.Context(), b.servers[i].Addr(), redisconn.Opts{IOTimeout: time.Minute, Logger: redisconn.NoopLogger{}})
		require.NoError(t, err)
		b.sides[i] = conn
	}
	m, err := redismirror.New(b.sides[0], b.sides[1], opts)
	require.NoError(t, err)
	t.Cleanup(m.Close)
	b.m, b.db = m, redis.SyncCtx{S: redis.WithRetry(m, redis.RetryOpts{})}
	return b
}

// settle waits until all requests were repeated.
func (b *bed) settle() {
	require.Eventually(b, func() bool { return b.m.Stats().Pending == 0 }, time.Minute, time.Millisecond)
}

// different returns those keys of the first server that are different on the second one.
func (b *bed) different() []string {
	keys, err := redis.As[[]string](b.servers[0].Do("KEYS", "*"))
	require.NoError(b, err)
	more, err := redis.As[[]string](b.servers[1].Do("KEYS", "*"))
	require.NoError(b, err)
	keys = append(keys, more...)
	slices.Sort(keys)
	different, err := redismirror.Compare(b.Context(), b.sides[0], b.sides[1], slices.Compact(keys))
	require.NoError(b, err)
	return different
}

// Under load, all keys are copied and cut over share by share, then moved back, then cut over again. Both
// databases have run each write once, in order. No counter has given two callers the same number.
func TestCutOver(t *testing.T) {
	t.Parallel()
	const writers, lists = 4, 16
	b := newBed(t, redismirror.Opts{Reads: 0.2})
	for i := range 100 {
		require.NoError(t, redis.Err(b.servers[0].Do("SET", fmt.Sprint("before", i), i, "PX", 1000_000+i)))
	}
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	l := ledger.New("w")
	all := ledger.NewLists(l)
	var numbers sync.Map
	var given atomic.Int64
	for w := range writers {
		running.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				key := fmt.Sprintf("list:%d:%d", w, i%lists)
				tag, id := all.Issue(key)
				res := b.db.Do(t.Context(), "RPUSH", key, tag)
				if outcome := redis.OutcomeOf(res); assert.Equal(t, redis.OutcomeValue, outcome, "%v", res) {
					l.End(id, ledger.Value, res)
				}
				for range 2 {
					_, id := all.Issue(key) // two writes, and only the second one waits for a reply
					b.m.Send(redis.Req("RPUSH", key, l.Tag(id)), redis.FuncFuture(func(res any, _ uint64) {
						if assert.Equal(t, redis.OutcomeValue, redis.OutcomeOf(res), "%v", res) {
							l.End(id, ledger.Value, res)
						}
					}), 0)
				}
				n := b.db.Do(t.Context(), "INCR", fmt.Sprint("n", i%lists))
				if _, twice := numbers.LoadOrStore(fmt.Sprint(i%lists, " ", n), true); twice {
					assert.Fail(t, "given twice", "%v", n)
				}
				given.Add(1)
				_ = b.db.Do(t.Context(), "GET", fmt.Sprint("n", i%lists))
				l.Wait(t.Context())
			}
		})
	}
	n, err := b.m.Copy(t.Context(), redis.ScanOpts{})
	require.NoError(t, err)
	require.GreaterOrEqual(t, n, 100)
	for _, share := range []float64{0.1, 0.5, 1, 0.3, 0, 1} {
		from := given.Load()
		require.Eventually(t, func() bool { return given.Load() > from+100 }, time.Minute, time.Millisecond)
		require.NoError(t, b.m.CutOver(t.Context(), share), "%v", b.m.Findings())
		require.InDelta(t, share, b.m.Stats().Share, 0.001)
	}
	stop()
	running.Wait()
	b.settle()
	stats := b.m.Stats()
	t.Logf("%d numbers, %+v", given.Load(), stats)
	require.Empty(t, b.m.Findings())
	require.Zero(t, stats.Failed+stats.Dropped)
	require.Empty(t, b.different())
	for _, server := range b.servers {
		require.NoError(t, all.Verify(func(key string) ([]string, error) { return redis.As[[]string](server.Do("LRANGE", key, 0, -1)) }))
		sum := int64(0)
		for i := range lists {
			n, err := redis.As[int64](server.Do("GET", fmt.Sprint("n", i)))
			require.NoError(t, err)
			sum += n
		}
		require.Equal(t, given.Load(), sum)
	}
	report := l.Finish(time.Minute)
	require.False(t, report.Failed(), report)
}

// Each key that was changed without the Mirror is found, and no other one. The other keys can be cut
// over.
func TestPlantedDifferences(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	b := newBed(t, redismirror.Opts{Reads: 1})
	plain := redis.SyncCtx{S: b.sides[1]}
	var reads, planted []redis.Request
	for i := range 20 {
		key := fmt.Sprint("key", i)
		for _, req := range []redis.Request{
			redis.Req("SET", "s"+key, i), redis.Req("HSET", "h"+key, "f", i, "g", 1), redis.Req("SADD", "m"+key, i, "x", "y"),
			redis.Req("RPUSH", "l"+key, i), redis.Req("ZADD", "z"+key, i, "x"),
		} {
			require.NoError(t, redis.Err(b.db.Do(ctx, req.Cmd, req.Args...)))
		}
		reads = append(reads, redis.Req("GET", "s"+key), redis.Req("HGETALL", "h"+key), redis.Req("SMEMBERS", "m"+key),
			redis.Req("LRANGE", "l"+key, 0, -1), redis.Req("ZRANGE", "z"+key, 0, -1), redis.Req("PTTL", "s"+key))
	}
	b.settle()
	for _, req := range []redis.Request{
		redis.Req("SET", "skey1", "other"), redis.Req("HSET", "hkey2", "f", "other"), redis.Req("SADD", "mkey3", "other"), redis.Req("RPUSH", "lkey4", "other"),
		redis.Req("ZADD", "zkey5", 1, "other"), redis.Req("DEL", "skey6"), redis.Req("EXPIRE", "skey7", 1000),
	} {
		require.NoError(t, redis.Err(plain.Do(ctx, req.Cmd, req.Args...)))
		planted = append(planted, req)
	}
	for _, req := range reads {
		require.NoError(t, redis.Err(b.db.Do(ctx, req.Cmd, req.Args...)))
	}
	found := func() (keys []string) {
		for _, f := range b.m.Findings() {
			assert.Equal(t, redismirror.Different, f.Kind)
			keys = append(keys, f.Key)
		}
		return slices.Compact(keys) // a key is listed once for each command
	}
	require.Eventually(t, func() bool { return len(found()) == len(planted) }, time.Minute, 5*time.Millisecond)
	want := []string{"hkey2", "lkey4", "mkey3", "skey1", "skey6", "skey7", "zkey5"}
	require.Equal(t, want, found())
	require.ElementsMatch(t, want, b.different())

	err := b.m.CutOver(ctx, 1)
	require.True(t, redis.AsErrorx(err).IsOfType(redismirror.ErrDifferent), "%v", err)
	require.Zero(t, b.m.Stats().Share)
	n, err := b.m.Repair(ctx)
	require.NoError(t, err)
	require.Equal(t, len(want), n)
	require.Empty(t, b.different())
	require.NoError(t, b.m.CutOver(ctx, 1))
	require.NoError(t, redis.Err(b.db.Do(ctx, "SET", "skey1", "new")))
	require.Equal(t, []byte("new"), b.servers[1].Do("GET", "skey1"))
}
