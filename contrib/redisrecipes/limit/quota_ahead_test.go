package limit

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Remaining is never negative, even if the server has nothing left and only the quota lets takes pass.
func TestQuotaRemaining(t *testing.T) {
	q := newQuotas(Opts{Rate: Rate{Count: 100, Per: time.Hour, Burst: 100}, Batch: 100})
	sent, _ := q.ask("k")
	q.answered("k", sent, 10, 1, Decision{Allowed: true, Remaining: 80})
	sent, _ = q.ask("k") // for 20, of which the server has none
	q.answered("k", sent, 0, 20, Decision{RetryAfter: time.Minute})
	for range 10 {
		d, decided := q.take(Take{"k", 1})
		require.True(t, decided && d.Allowed)
		require.GreaterOrEqual(t, d.Remaining, 0)
	}
}

// A quota ends a life after its own call was sent, even if a later call was answered first.
func TestQuotaOfALateAnswer(t *testing.T) {
	q := newQuotas(Opts{Rate: Rate{Count: 1e6, Per: time.Hour, Burst: 1e6}, Batch: 100})
	now := time.Now()
	early := now.Add(-q.life * 2)
	_, _ = q.ask("k")
	q.answered("k", now, 1, 1, Decision{Allowed: true, Remaining: 1000})
	q.answered("k", early, 100, 1, Decision{Allowed: true, Remaining: 1000})
	_, decided := q.take(Take{"k", 50})
	require.False(t, decided, "those requests were counted two lives ago")
}

// A take of 0 takes nothing, even in advance, however often it is asked for.
func TestQuotaOfNothing(t *testing.T) {
	l := &Limiter{opts: Opts{Rate: Rate{Count: 100, Per: time.Hour, Burst: 100}}}
	l.quotas = newQuotas(Opts{Rate: l.opts.Rate, Batch: 100})
	ahead := 0
	for range 50 {
		g := &group{key: "k", ns: []int{0}}
		args, sent := l.args(g)
		ahead += args[3].(int)
		if !sent.IsZero() { // what Limiter.call does with the answer
			l.quotas.answered("k", sent, args[3].(int), 0, Decision{Allowed: true, Remaining: 100})
		}
	}
	require.Zero(t, ahead)
}
