package limit

import (
	"fmt"
	"math"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redistest/memserver"
)

// bucketServer answers calls of the script smooth for one key, as the script does.
type bucketServer struct {
	redis.Sender
	level float64
	at    time.Time
	calls int
}

func (b *bucketServer) Send(r redis.Request, cb redis.Future, n uint64) {
	args := r.Args[3:]
	count, per, burst := float64(args[0].(int)), time.Duration(args[1].(int64))*time.Microsecond, float64(args[2].(int))
	ahead := float64(args[3].(int))
	b.calls++
	now := time.Now()
	b.level = max(0, b.level-float64(now.Sub(b.at))*count/float64(per))
	b.at = now
	micros := func(n float64) int64 { return int64(math.Ceil(n * float64(per.Microseconds()) / count)) }
	var answers []any
	for _, arg := range args[4:] {
		take := float64(arg.(int))
		allowed, retry := int64(0), int64(0)
		if b.level+take <= burst+1e-9 {
			allowed, b.level = 1, b.level+take
		} else {
			retry, ahead = micros(b.level+take-burst), 0
		}
		answers = append(answers, allowed, int64(burst-b.level+1e-9), retry, micros(b.level))
	}
	ahead = min(ahead, max(0, math.Floor((burst-b.level)/8)))
	b.level += ahead
	cb.Resolve(append(answers, int64(ahead)), n)
}

func (b *bucketServer) limiter(t *testing.T, rate Rate) *Limiter {
	limiter, err := New(b, Opts{Rate: rate, Batch: 64, Timeout: patience})
	require.NoError(t, err)
	return limiter
}

// If three processes use a busy key, as many requests pass as without Batch, within 1 %, and most of them need no call.
func TestBatchesAreExact(t *testing.T) {
	rate, end := Rate{Count: 6000, Per: time.Minute, Burst: 600}, time.Minute
	if os.Getenv("REDISPIPE_LONG") != "" {
		end = time.Hour
	}
	for _, load := range []int{90, 130} { // in percent
		t.Run(fmt.Sprint(load), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				batched, single := &bucketServer{}, &bucketServer{}
				processes := []*Limiter{batched.limiter(t, rate), batched.limiter(t, rate), batched.limiter(t, rate)}
				exact, err := New(single, Opts{Rate: rate, Timeout: patience})
				require.NoError(t, err)
				passed, ideal := 0, 0
				pause := rate.Per * 100 / time.Duration(rate.Count*load)
				for began, i := time.Now(), 0; time.Since(began) < end; i++ {
					d, err := processes[i%len(processes)].Allow(t.Context(), "a")
					require.NoError(t, err)
					reference, err := exact.Allow(t.Context(), "a")
					require.NoError(t, err)
					if d.Allowed {
						passed++
					}
					if reference.Allowed {
						ideal++
					}
					require.Equal(t, d.Allowed, d.RetryAfter == 0)
					time.Sleep(pause)
				}
				t.Logf("%d passed, without batches %d; %d calls, without %d", passed, ideal, batched.calls, single.calls)
				require.InEpsilon(t, ideal, passed, 0.01)
				if load < 100 {
					require.Less(t, batched.calls, single.calls/5)
				}
			})
		})
	}
}

// Requests that were taken in advance pass without a call, until the quota ends; then the unused ones are lost. For a key
// that is seldom used, nothing is taken in advance.
func TestQuotaEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &bucketServer{}
		limiter := server.limiter(t, Rate{Count: 1000, Per: 128 * 100 * time.Millisecond})
		allow := func(n int) Decision {
			d, err := limiter.AllowN(t.Context(), "a", n)
			require.NoError(t, err)
			return d
		}
		for range 100 {
			require.True(t, allow(1).Allowed)
			time.Sleep(201 * time.Millisecond)
		}
		require.Equal(t, 100, server.calls)
		require.Equal(t, 1000, allow(0).Remaining, "nothing was taken in advance")

		time.Sleep(time.Second)
		server.calls = 0
		for i := range 11 { // calls that take 0, 1, 2 and 4 in advance
			require.Equal(t, 999-i, allow(1).Remaining)
		}
		require.Equal(t, 4, server.calls)
		require.Equal(t, 988, allow(1).Remaining, "takes 8 in advance")
		require.Equal(t, 5, server.calls)
		require.True(t, allow(9).Allowed, "more than is left of the batch")
		require.Equal(t, 6, server.calls)
		time.Sleep(150 * time.Millisecond)
		allow(1)
		require.Equal(t, 7, server.calls, "the rest of the batch is lost")
	})
}

// If the server has refused a key, the process makes no further call for it until a request would pass, or until the time
// that a quota lasts is over.
func TestQuotaRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &bucketServer{}
		limiter := server.limiter(t, Rate{Count: 2, Per: 256 * time.Second}) // one in 128 s
		allow := func() Decision {
			d, err := limiter.Allow(t.Context(), "a")
			require.NoError(t, err)
			return d
		}
		require.True(t, allow().Allowed)
		require.True(t, allow().Allowed)
		require.Equal(t, 128*time.Second, allow().RetryAfter)
		require.Equal(t, 3, server.calls)
		time.Sleep(quotaMost - 1)
		d := allow()
		require.Equal(t, Decision{RetryAfter: 127*time.Second + 1, ResetAfter: 255*time.Second + 1}, d)
		require.Equal(t, 3, server.calls)
		time.Sleep(time.Nanosecond)
		require.False(t, allow().Allowed)
		require.Equal(t, 4, server.calls)
	})
}

func TestQuotaKeysAreBounded(t *testing.T) {
	synctest.Test(t, func(*testing.T) {
		q := newQuotas(Opts{Batch: 1, Rate: Rate{Per: time.Hour}})
		for i := range quotaKeys + 1 {
			q.ask(fmt.Sprint(i))
		}
		require.Len(t, q.byKey, quotaKeys)
		time.Sleep(2*quotaMost + 1)
		q.ask("another")
		require.Len(t, q.byKey, 1)
	})
}

// The scripts take in advance at most an eighth of the requests that would still pass, and none if a take was refused.
func TestScriptsTakeInAdvance(t *testing.T) {
	for name, kind := range kinds {
		server := memserver.Strict(t)
		server.Miniredis().SetTime(time.Unix(1_800_000_000, 0))
		limiter, err := New(open(t, server.Addr()), Opts{Rate: Rate{Count: 100, Per: time.Hour}, Kind: kind, Batch: 50, Timeout: patience})
		require.NoError(t, err)
		call := func(ahead int, ns ...int) []int64 {
			limiter.quotas.byKey["a"] = &quota{asked: time.Now(), next: ahead, left: 1, until: time.Now().Add(patience)}
			g := &group{key: "a", ns: ns}
			limiter.call(t.Context(), g)
			require.NoError(t, g.err)
			require.True(t, g.whole())
			return g.answers
		}
		got := call(5, 10, 10)
		require.Equal(t, []int64{1, 90}, got[:2], name)
		require.Equal(t, []int64{1, 80}, got[answerLen:][:2], name)
		require.EqualValues(t, 5, got[2*answerLen], name)
		require.EqualValues(t, 75, call(0, 0)[1], name)
		got = call(50, 3)
		require.EqualValues(t, 9, got[answerLen], name)
		require.EqualValues(t, 63, call(0, 0)[1], name)
		require.EqualValues(t, 0, call(50, 100, 0)[2*answerLen], name)
		require.EqualValues(t, 63, call(0, 0)[1], name)
		require.EqualValues(t, 7, call(7, 1)[answerLen], name)
		require.EqualValues(t, 55, call(0, 0)[1], name)
	}
}
