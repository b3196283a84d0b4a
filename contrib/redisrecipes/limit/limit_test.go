package limit

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe"
	"github.com/joomcode/redispipe/internal/lab/virtualtime"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redistest"
	"github.com/joomcode/redispipe/redistest/memserver"
	"github.com/joomcode/redispipe/testbed"
)

// patience bounds a call to a server that answers. It is longer than any pause of a busy machine.
const patience = time.Minute

func open(t *testing.T, addr string) *redispipe.Client {
	t.Helper()
	client, err := redispipe.Open(t.Context(), "redis://"+addr, redispipe.Logger(nil))
	require.NoError(t, err)
	t.Cleanup(client.Close)
	return client
}

// kinds holds both ways to count.
var kinds = map[string]Kind{"smooth": Smooth, "window": Window}

// Concurrent callers never get more than the limit, and each decision reports the correct remainder.
func TestCallersAtOnce(t *testing.T) {
	server := testbed.NewServer(t)
	client := open(t, server.Addr())
	for name, kind := range kinds {
		limiter, err := New(client, Opts{
			Rate: Rate{Count: 100, Per: 24 * time.Hour}, Kind: kind, Prefix: name + ":", Timeout: patience,
		})
		require.NoError(t, err)
		var allowed, least atomic.Int64
		var callers sync.WaitGroup
		for range 128 {
			callers.Go(func() {
				d, err := limiter.Allow(t.Context(), "user:1")
				if err != nil || d.Unavailable != nil {
					t.Error(err, d.Unavailable)
				}
				if d.Allowed {
					allowed.Add(1)
				} else if d.RetryAfter > 0 && d.RetryAfter <= 25*time.Hour {
					least.Add(1)
				}
			})
		}
		callers.Wait()
		require.EqualValues(t, 100, allowed.Load(), name)
		require.EqualValues(t, 28, least.Load(), name)

		all, err := limiter.AllowEach(t.Context(), Take{"user:1", 0}, Take{"user:2", 60}, Take{"user:2", 60}, Take{"user:3", 100})
		require.NoError(t, err)
		require.Equal(t, []bool{true, true, false, true}, []bool{all[0].Allowed, all[1].Allowed, all[2].Allowed, all[3].Allowed}, name)
		require.Equal(t, []int{0, 40, 40, 0}, []int{all[0].Remaining, all[1].Remaining, all[2].Remaining, all[3].Remaining}, name)
		require.Greater(t, all[1].ResetAfter, time.Hour)

		left, err := redis.As[int64](client.Do(t.Context(), "PTTL", name+":user:1"))
		require.NoError(t, err)
		require.Greater(t, left, int64(0), "what nobody uses expires")
	}
}

// If a key has a value of another program, the script returns an error and no decision.
func TestAForeignKey(t *testing.T) {
	server := testbed.NewServer(t)
	client := open(t, server.Addr())
	for name, kind := range kinds {
		limiter, err := New(client, Opts{
			Rate: Rate{Count: 100, Per: time.Hour}, Kind: kind, OnUnavailable: Allow, Prefix: name + ":", Timeout: patience,
		})
		require.NoError(t, err)
		require.NoError(t, redis.Err(client.Do(t.Context(), "HSET", name+":a", "b", "c")))
		d, err := limiter.Allow(t.Context(), "a")
		require.NoError(t, err)
		require.True(t, d.Allowed)
		require.ErrorIs(t, d.Unavailable, redis.ErrRefused)
	}
}

// exact is a reference for the decisions of a limiter. It uses the theoretical arrival time of GCRA, or a log of all
// requests.
type exact struct {
	Rate
	arrival time.Duration
	log     []time.Duration
}

func (e *exact) smooth(now time.Duration) bool {
	each := e.Per / time.Duration(e.Count)
	next := max(e.arrival, now) + each
	if next > now+time.Duration(e.Count)*each {
		return false
	}
	e.arrival = next
	return true
}

func (e *exact) window(now time.Duration) bool {
	if n := len(e.log) - e.Count; n >= 0 && now-e.log[n] < e.Per {
		return false
	}
	e.log = append(e.log, now)
	return true
}

// At twice the allowed load, a limiter lets as many requests pass in an hour of the server's clock as an exact
// limiter, within 1 %. No window has more than its limit.
func TestAnHour(t *testing.T) {
	rate := Rate{Count: 20, Per: 200 * time.Second}
	if os.Getenv("REDISPIPE_LONG") != "" {
		rate = Rate{Count: 20, Per: 20 * time.Second}
	}
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			server := memserver.Strict(t)
			limiter, err := New(open(t, server.Addr()), Opts{Rate: rate, Kind: kind, Timeout: patience})
			require.NoError(t, err)
			start, step := time.Unix(1_800_000_000, 0), rate.Per/time.Duration(rate.Count)/3
			reference := &exact{Rate: rate}
			decide := map[Kind]func(time.Duration) bool{Smooth: reference.smooth, Window: reference.window}[kind]
			var passed []time.Duration
			ideal, random := 0, rand.New(rand.NewPCG(1, 2))
			for now := step; now < time.Hour; now += time.Duration(random.Int64N(int64(3 * step))) {
				server.Miniredis().SetTime(start.Add(now))
				d, err := limiter.Allow(t.Context(), "user:1")
				require.NoError(t, err)
				require.NoError(t, d.Unavailable)
				if decide(now) {
					ideal++
				}
				if !d.Allowed {
					continue
				}
				passed = append(passed, now)
				if n := len(passed) - 1 - rate.Count; kind == Window && n >= 0 {
					require.GreaterOrEqual(t, now-passed[n], rate.Per, "requests %d to %d", n, len(passed))
				}
			}
			t.Logf("%d passed, with an exact limiter %d", len(passed), ideal)
			require.InEpsilon(t, ideal, len(passed), 0.01)
		})
	}
}

// A refused take passes after Decision.RetryAfter, and not before.
func TestRetryAfter(t *testing.T) {
	for name, kind := range kinds {
		for count := range 10 {
			rate := Rate{Count: count + 1, Per: time.Second}
			server := memserver.Strict(t)
			limiter, err := New(open(t, server.Addr()), Opts{Rate: rate, Kind: kind, Timeout: patience})
			require.NoError(t, err)
			now := time.Unix(1_800_000_000, 123_456_000)
			take := func(n int) Decision {
				server.Miniredis().SetTime(now)
				d, err := limiter.AllowN(t.Context(), "a", n)
				require.NoError(t, err)
				require.NoError(t, d.Unavailable)
				return d
			}
			for i := range 2*rate.Count + 1 {
				if take(1).Allowed {
					now = now.Add(time.Millisecond)
					continue
				}
				n := 1 + i%rate.Count
				wait := take(n).RetryAfter
				require.Positive(t, wait)
				now = now.Add(wait - 2*time.Microsecond) // the wait is rounded up
				require.False(t, take(n).Allowed, "%s %d: too early", name, rate.Count)
				now = now.Add(2 * time.Microsecond)
				require.True(t, take(n).Allowed, "%s %d: %d after %v", name, rate.Count, n, wait)
			}
			now = now.Add(take(0).ResetAfter)
			require.Equal(t, rate.Count, take(0).Remaining, "%s %d", name, rate.Count)
			// If the clock is set back, requests that have passed stay counted, and at most one more limit passes.
			require.True(t, take(rate.Count).Allowed)
			now = now.Add(-time.Hour)
			require.False(t, take(1).Allowed)
		}
	}
}

// While the server is silent for five seconds, OnUnavailable decides, and no caller waits longer than Timeout.
func TestUnavailable(t *testing.T) {
	for _, tt := range []struct {
		does  Unavailable
		least int
		most  int
	}{
		{Deny, 0, 0},
		{Allow, 8 * 20, 8 * 20},
		{Local, 5 + 23, 5 + 25}, // half of the burst and of the rate, because there are two processes
	} {
		t.Run(fmt.Sprint(tt.does), func(t *testing.T) {
			virtualtime.Run(t, func(t *testing.T) {
				mock := redistest.NewMock(t)
				mock.Expect("EVALSHA", redistest.Rest).NoReply().AnyTimes()
				limiter, err := New(mock, Opts{
					Rate: Rate{Count: 10, Per: time.Second}, OnUnavailable: tt.does, Processes: 2,
				})
				require.NoError(t, err)
				var allowed atomic.Int64
				var callers sync.WaitGroup
				began := time.Now()
				for range 8 {
					callers.Go(func() {
						for range 20 {
							d, err := limiter.Allow(t.Context(), "user:1")
							if err != nil || d.Unavailable == nil {
								t.Error(d, err)
							}
							if d.Allowed {
								allowed.Add(1)
							}
						}
					})
				}
				callers.Wait()
				require.Equal(t, 5*time.Second, time.Since(began))
				require.GreaterOrEqual(t, allowed.Load(), int64(tt.least))
				require.LessOrEqual(t, allowed.Load(), int64(tt.most))
				mock.Close()
			})
		})
	}
}

// If a call ends without a decision of the server, OnUnavailable decides, unless the caller's context has ended.
func TestOutcomes(t *testing.T) {
	mock := redistest.NewMock(t)
	limiter, err := New(mock, Opts{Rate: Rate{Count: 10, Per: time.Second}, OnUnavailable: Allow, Timeout: patience})
	require.NoError(t, err)
	call := func() *redistest.Expectation { return mock.Expect("EVALSHA", redistest.Rest) }
	for _, expected := range []*redistest.Expectation{
		call().NotSent(), call().Unknown(), call().ServerError("OOM no memory"), call().Reply("what"), call().Reply([]any{int64(1)}),
	} {
		d, err := limiter.Allow(t.Context(), "a")
		require.NoError(t, err, expected)
		require.True(t, d.Allowed, expected)
		require.Error(t, d.Unavailable, expected)
	}
	ctx, cancel := context.WithCancel(t.Context())
	call().ReplyFunc(func(redis.Request) any { cancel(); <-ctx.Done(); return redistest.ErrNotSent.New("late") })
	_, err = limiter.Allow(ctx, "a")
	require.Error(t, err)
}

func TestLocalKeysAreBounded(t *testing.T) {
	l, now := newLocal(Rate{Count: 1, Per: time.Second, Burst: 1}, 1), time.Now()
	for i := range localKeys {
		require.True(t, l.take(now, Take{fmt.Sprint(i), 1}).Allowed)
	}
	d := l.take(now, Take{"one more", 1})
	require.False(t, d.Allowed)
	require.Equal(t, time.Second, d.RetryAfter)
	require.False(t, l.take(now, Take{"0", 1}).Allowed)
	require.True(t, l.take(now.Add(time.Second), Take{"one more", 1}).Allowed)
	require.Len(t, l.buckets, 1)
}
