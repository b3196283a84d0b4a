package redis

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/send"
)

// fakeJudge records the results that it gets, and replaces errors.
type fakeJudge struct {
	send.Judge
	results chan any
	instead error
}

func (f *fakeJudge) Judged(res any, _ uint64) any {
	f.results <- res
	if _, failed := res.(error); failed && f.instead != nil {
		return f.instead
	}
	return res
}

// judging returns a sender that gives each request the judge, and then calls encoded.
func judging(by send.Judge, encoded func(r *send.Request, cb Future, n uint64)) *ownSender {
	return &ownSender{encoded: func(r *send.Request, cb Future, n uint64) {
		if send.TakesJudge(cb) {
			r.Judge = by
		}
		encoded(r, cb, n)
	}}
}

// The judge of a request gets its result, and may replace it. The next request has no judge.
func TestJudged(t *testing.T) {
	by := &fakeJudge{results: make(chan any, 10), instead: ErrIO.New("instead")}
	var res any
	answer := func(r *send.Request, cb Future, n uint64) { cb.Resolve(res, n) }
	s := Sync{judging(by, answer)}
	res = "OK"
	require.Equal(t, "OK", s.Do("GET", "k"))
	require.Equal(t, "OK", <-by.results)
	res = ErrLoading.New("LOADING")
	assertType(t, ErrIO, s.Do("GET", "k"))
	require.Equal(t, res, <-by.results)
	res = int64(7)
	var n int64
	require.NoError(t, s.DoInto(&n, "GET", "k"))
	require.EqualValues(t, 7, n)
	require.Equal(t, res, <-by.results)

	plain := Sync{&ownSender{encoded: func(r *send.Request, cb Future, n uint64) {
		require.Nil(t, r.Judge)
		cb.Resolve(res, n)
	}}}
	require.Equal(t, res, plain.Do("GET", "k"))
	require.Empty(t, by.results)
}

// If the caller leaves, the judge gets the result that arrives later. If the request is withdrawn, the judge
// gets the error of the caller.
func TestJudgedAfterTheCallerHasLeft(t *testing.T) {
	by := &fakeJudge{results: make(chan any, 10)}
	for name, withdrawn := range map[string]bool{"abandoned": false, "withdrawn": true} {
		t.Run(name, func(t *testing.T) {
			sent := make(chan Future, 1)
			ctx, cancel := context.WithCancel(t.Context())
			s := SyncCtx{judging(by, func(r *send.Request, cb Future, _ uint64) {
				r.Ticket.Queue = &takesBack{withdrawn}
				sent <- cb
				cancel()
			})}
			err := s.Do(ctx, "GET", "k")
			require.ErrorIs(t, Err(err), context.Canceled)
			if withdrawn {
				require.Equal(t, OutcomeNotSent, OutcomeOf(err))
				require.Equal(t, OutcomeNotSent, OutcomeOf(<-by.results))
				return
			}
			require.Equal(t, OutcomeUnknown, OutcomeOf(err))
			require.Empty(t, by.results)
			(<-sent).Resolve("late", 0)
			require.Equal(t, "late", <-by.results)
		})
	}
	require.Empty(t, by.results)
}

// takesBack is a queue that takes all requests back, or none.
type takesBack struct{ all bool }

func (q *takesBack) Withdraw(uint64) bool { return q.all }

// Only the future of a single encoded request takes a judge.
func TestTakesJudge(t *testing.T) {
	require.False(t, send.TakesJudge(FuncFuture(func(any, uint64) {})))
	require.False(t, send.TakesJudge(&manyWaiter{}))
	require.False(t, send.TakesJudge(newWaiter(nil)))
	require.False(t, send.TakesJudge(nil))
}

// The samples of many uses of a waiter add up to the number of uses.
func TestSample(t *testing.T) {
	var sum uint64
	var w waiter
	for w.use = 1; w.use <= 10*judgedSample; w.use++ {
		sum += w.sample()
	}
	require.EqualValues(t, 10*judgedSample, sum)
}
