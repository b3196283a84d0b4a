package redis

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/joomcode/errorx"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/lab/virtualtime"
	"github.com/joomcode/redispipe/internal/send"
)

// These errors are made as connections make them.
var (
	errDown   = errs.Errors.NewType("down_in_a_test", ErrTraitNotSent, ErrTraitConnectivity).New("not connected")
	errLost   = ErrIO.New("connection reset")
	errLoads  = ErrLoading.New("LOADING")
	errDenied = errs.Errors.NewType("denied_in_a_test", ErrTraitNotSent, errs.ErrTraitInitPermanent).New("wrong password")
)

// script is a Sender that answers each attempt with the next result, and further ones with the
// last.
type script struct {
	foreignSender
	mu      sync.Mutex // guards results
	results []any
	sent    []string // the requests of all attempts
}

func scripted(results ...any) *script {
	s := &script{results: results}
	s.foreignSender = foreignSender{
		send: func(r Request, cb Future, n uint64) { cb.Resolve(s.next(r.Cmd), n) },
		sendMany: func(reqs []Request, cb Future, start uint64) {
			for i, r := range reqs {
				cb.Resolve(s.next(r.Cmd), start+uint64(i))
			}
		},
		transaction: func(reqs []Request, cb Future, n uint64) { cb.Resolve(s.next("EXEC"), n) },
	}
	return s
}

func (s *script) set(results ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.results = results
}

func (s *script) next(cmd string) any {
	s.mu.Lock()
	defer s.mu.Unlock()
	res := s.results[min(len(s.sent), len(s.results)-1)]
	s.sent = append(s.sent, cmd)
	return res
}

// TestRetryByOutcome has a row for each rule about sending requests again.
func TestRetryByOutcome(t *testing.T) {
	down, lost, loads := any(errDown), any(errLost), any(errLoads)
	for _, c := range []struct {
		cmd      string
		results  []any
		want     Outcome
		attempts int
	}{
		{"INCR", []any{int64(1)}, OutcomeValue, 1},
		{"INCR", []any{down, down, int64(1)}, OutcomeValue, 3},
		{"INCR", []any{loads, int64(1)}, OutcomeValue, 2},
		{"INCR", []any{lost}, OutcomeUnknown, 1},
		{"INCR", []any{down, lost}, OutcomeUnknown, 2},
		{"NOSUCHCOMMAND", []any{lost}, OutcomeUnknown, 1},
		{"EVAL", []any{down, int64(1)}, OutcomeValue, 2},
		{"GET", []any{lost, lost, "v"}, OutcomeValue, 3},
		{"GET", []any{lost, down, "v"}, OutcomeValue, 3},
		{"GET", []any{lost, ErrResult.New("ERR x")}, OutcomeRefused, 2},
		{"GET", []any{lost, errDenied}, OutcomeUnknown, 2}, // the first attempt may have run
		{"GET", []any{ErrResponseFormat.New("x")}, OutcomeUnknown, 1},
		{"GET", []any{ErrResult.New("ERR x")}, OutcomeRefused, 1},
		{"GET", []any{errDenied}, OutcomeNotSent, 1},
		{"GET", []any{ErrContextClosed.New("x")}, OutcomeNotSent, 1},
		{"GET", []any{ErrQueueFull.New("x")}, OutcomeNotSent, 1},
		{"GET", []any{ErrOverloaded.New("x")}, OutcomeNotSent, 1},
		{"GET", []any{ErrCommandForbidden.New("x")}, OutcomeNotSent, 1},
	} {
		t.Run(fmt.Sprint(c.cmd, c.results), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := scripted(c.results...)
				res := SyncCtx{WithRetry(s, RetryOpts{})}.Do(t.Context(), c.cmd, "k")
				assert.Equal(t, c.want, OutcomeOf(res), "%v", res)
				assert.Len(t, s.sent, c.attempts)
				if err := Err(res); err != nil && c.attempts > 1 {
					assert.Len(t, AttemptsOf(err), c.attempts)
				}

				s = scripted(c.results...)
				res = SyncCtx{WithRetry(s, RetryOpts{})}.SendMany(t.Context(), []Request{Req(c.cmd, "k")})[0]
				assert.Equal(t, c.want, OutcomeOf(res), "in a batch: %v", res)
				assert.Len(t, s.sent, c.attempts, "in a batch")

				s = scripted(append(c.results[:len(c.results)-1:len(c.results)-1], inExec(c.results[len(c.results)-1]))...)
				results, err := SyncCtx{WithRetry(s, RetryOpts{})}.SendTransaction(t.Context(), []Request{Req("GET", "k"), Req(c.cmd, "k")})
				assert.Equal(t, c.want, OutcomeOf(resultOf(results, err)), "in a transaction: %v", err)
				assert.Len(t, s.sent, c.attempts, "in a transaction")

				s = scripted(c.results...)
				res = SyncCtx{WithRetry(WithHook(s, &recording{}), RetryOpts{})}.Do(t.Context(), c.cmd, "k")
				assert.Equal(t, c.want, OutcomeOf(res), "with a hook: %v", res)
				assert.Len(t, s.sent, c.attempts, "with a hook")
			})
		})
	}
}

// An error that a script itself returns does not show that the script did nothing, so it is not run
// again.
func TestRetryBelievesNoScript(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, cmd := range []string{"EVAL", "EVALSHA", "FCALL", "NOSUCHCOMMAND"} {
			s := scripted(ErrBusy.New("BUSY says the script"))
			require.ErrorIs(t, Err(SyncCtx{WithRetry(s, RetryOpts{})}.Do(t.Context(), cmd, "x", 0)), ErrRefused)
			require.ErrorIs(t, Err(SyncCtx{WithRetry(s, RetryOpts{})}.SendMany(t.Context(), []Request{Req(cmd, "x", 0)})[0]), ErrRefused)
			require.Equal(t, []string{cmd, cmd}, s.sent)
		}
	})
}

// If the server itself refuses a script, the script has not run, and is sent again.
func TestRetryOfScriptBeforeItRan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, refusal := range []*errorx.Error{
			ErrLoading.New("LOADING Valkey is loading the dataset in memory"),
			ErrReadOnly.New("READONLY You can't write against a read only replica."),
			ErrBusy.New("BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE."),
		} {
			s := scripted(refusal, int64(1))
			require.Equal(t, int64(1), SyncCtx{WithRetry(s, RetryOpts{})}.Do(t.Context(), "EVAL", "return 1", 0))
		}
	})
}

// inExec returns the result of a transaction of two requests with the result res. If res is an
// error, that is the error of the transaction.
func inExec(res any) any {
	if _, failed := res.(error); failed {
		return res
	}
	return []any{res, res}
}

// A request is sent again until its deadline, or for Within. If an earlier attempt may have run,
// the error says so, no matter how the last attempt ended.
func TestRetryEnds(t *testing.T) {
	deadline := func(t *testing.T) context.Context {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		t.Cleanup(cancel)
		return ctx
	}
	for name, c := range map[string]struct {
		ctx    func(t *testing.T) context.Context
		within time.Duration
		first  *errorx.Error
		after  time.Duration
		want   error
		cause  error
	}{
		"its deadline":                      {deadline, 0, errDown, time.Minute, ErrNotSent, context.DeadlineExceeded},
		"its deadline, after an unknown":    {deadline, 0, errLost, time.Minute, ErrUnknown, context.DeadlineExceeded},
		"Within, before its deadline":       {deadline, time.Second, errDown, time.Second, ErrNotSent, nil},
		"the default":                       {(*testing.T).Context, 0, errDown, retryWithin, ErrNotSent, nil},
		"the default, after an unknown":     {(*testing.T).Context, 0, errLost, retryWithin, ErrUnknown, nil},
		"Within, longer than without a one": {(*testing.T).Context, time.Minute, errDown, time.Minute, ErrNotSent, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var s Sender
				var ctx context.Context
				for form, do := range map[string]func() error{
					"one":         func() error { return Err(SyncCtx{s}.Do(ctx, "GET", "k")) },
					"batch":       func() error { return Err(SyncCtx{s}.SendMany(ctx, []Request{Req("GET", "k")})[0]) },
					"transaction": func() error { _, err := SyncCtx{s}.Transact(ctx, []Request{Req("GET", "k")}); return err },
				} {
					s, ctx = WithRetry(scripted(c.first, errDown), RetryOpts{Within: c.within}), c.ctx(t)
					began := time.Now()
					err := do()
					require.ErrorIs(t, err, c.want, form)
					require.Equal(t, c.after, time.Since(began), form)
					if c.cause != nil {
						require.ErrorIs(t, err, c.cause, form)
					}
					require.Len(t, AttemptsOf(err), trialsKept, form)
					require.ErrorIs(t, AttemptsOf(err)[1], ErrNotSent, form)
				}
			})
		})
	}
}

// If a request is cancelled or its sender is closed during a pause, the request ends at once.
func TestRetryIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended, end := context.WithCancel(t.Context())
		s := living{scripted(errDown), ended}
		retries := WithRetry(s, RetryOpts{Within: time.Hour})
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Minute, cancel)
		err := Err(SyncCtx{retries}.Do(ctx, "INCR", "k"))
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, ErrNotSent)
		require.ErrorContains(t, err, "not connected", "the reason")

		began := time.Now()
		time.AfterFunc(time.Minute, func() {
			s.set(ErrContextClosed.New("closed"))
			end()
		})
		require.True(t, AsErrorx(SyncCtx{retries}.Do(t.Context(), "INCR", "k")).IsOfType(ErrContextClosed))
		require.Equal(t, time.Minute, time.Since(began))
	})
}

// living is a sender with a context that ends when the sender is closed.
type living struct {
	*script
	ctx context.Context
}

func (l living) Ctx() context.Context { return l.ctx }

// restoring is a connection that is down until it is restored.
type restoring struct {
	*ownSender
	up chan struct{}
}

func (r *restoring) Restored() <-chan struct{} { return r.up }

// If a connection is down, the next attempt waits until it is restored.
func TestRetryAwaitsTheConnection(t *testing.T) {
	virtualtime.Run(t, func(t *testing.T) {
		attempts := 0
		conn := &restoring{up: make(chan struct{})}
		conn.ownSender = &ownSender{encoded: func(_ *send.Request, cb Future, n uint64) {
			attempts++
			select {
			case <-conn.up:
				cb.Resolve(int64(7), n)
			default:
				cb.Resolve(errDown.WithProperty(errs.EKConnection, conn), n)
			}
		}}
		time.AfterFunc(time.Minute, func() { close(conn.up) })
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		began := time.Now()
		var n int64
		require.NoError(t, SyncCtx{WithRetry(conn, RetryOpts{})}.DoInto(ctx, &n, "INCR", "k"))
		require.EqualValues(t, 7, n)
		require.Equal(t, 2, attempts)
		require.Equal(t, time.Minute, time.Since(began))
	})
}

// WithRetry decides for each request of a batch separately whether to send it again. Those that it
// sends again keep their order.
func TestRetryMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := scripted("one", errLost, errLost, errDown, errDown, "v", "four", "five")
		results := SyncCtx{WithRetry(s, RetryOpts{})}.SendMany(t.Context(), []Request{
			Req("SET", "a", 1), Req("INCR", "a"), Req("GET", "a"), Req("SET", "b", 1), Req("INCR", "b"),
		})
		require.Equal(t, []string{"SET", "INCR", "GET", "SET", "INCR", "GET", "SET", "INCR"}, s.sent)
		require.ErrorIs(t, Err(results[1]), ErrUnknown)
		require.Equal(t, []any{"one", results[1], "v", "four", "five"}, results)
	})
}

// If a handle already sends requests again, WithRetry around it replaces the handle's options.
func TestWithRetryAgain(t *testing.T) {
	s := scripted(errDown)
	client := &handle{WithRetry(WithHook(s, &recording{}), RetryOpts{})}
	once := WithRetry(client, NoRetry)
	require.IsType(t, &hooked{}, once)
	require.ErrorIs(t, Err(SyncCtx{once}.Do(t.Context(), "INCR", "k")), ErrNotSent)
	require.Len(t, s.sent, 1)
	require.Equal(t, Sender(s), WithRetry(s, NoRetry))
	require.IsType(t, &hooked{}, WithRetry(client, RetryOpts{}).(*retrying).Sender)
	require.True(t, AsErrorx(SyncCtx{WithRetry(nil, RetryOpts{})}.Do(t.Context(), "GET", "k")).IsOfType(errs.ErrNoSender))
}

// The senders of shards send requests again, too. They share one budget.
func TestRetryOfShards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := scripted(errDown, int64(1))
		all := WithRetry(s, RetryOpts{})
		require.Equal(t, []any{int64(1)}, ofShards(all, func(shard Sender) any {
			require.Same(t, all.(*retrying).retrier, shard.(*retrying).retrier)
			return SyncCtx{shard}.Do(t.Context(), "INCR", "n")
		}))
		require.Len(t, s.sent, 2)
	})
}

// ofShards calls f with the sender of each shard, and returns the results.
func ofShards(s Sender, f func(shard Sender) any) (results []any) {
	s.EachShard(func(shard Sender, err error) bool {
		results = append(results, f(shard))
		return err == nil
	})
	return results
}

// If a decorator embeds a retrying sender, the decorator's methods are called. A request with a
// user's future is sent once.
func TestRetryOfFutures(t *testing.T) {
	s := scripted(errDown)
	inner := WithRetry(s, RetryOpts{Within: time.Hour})
	require.ErrorIs(t, Err(ChanFutured{inner}.Send(Req("INCR", "k")).Value()), ErrNotSent)
	require.ErrorIs(t, Err(ChanFutured{inner}.SendMany([]Request{Req("INCR", "k")})[0].Value()), ErrNotSent)
	_, err := ChanFutured{inner}.SendTransaction([]Request{Req("INCR", "k")}).Results()
	require.ErrorIs(t, Err(err), ErrNotSent)
	own := &struct{ Sender }{inner}
	require.ErrorIs(t, Err(SyncCtx{own}.Do(t.Context(), "INCR", "k")), ErrNotSent)
	require.Len(t, s.sent, 4)
}

// A call of a script waits for the connection and is sent again, by hash or by body, also through
// WithScripts.
func TestRetryOfScripts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		missing := ErrNoScript.New("NOSCRIPT No matching script. Please use EVAL.")
		s := scripted(errDown, missing, errDown, int64(1))
		require.Equal(t, int64(1), NewScript("return 1").Do(t.Context(), WithRetry(s, RetryOpts{}), []string{"k"}))
		require.Equal(t, []string{"EVALSHA", "EVALSHA", "EVAL", "EVAL"}, s.sent)

		s = scripted(errDown, missing, errDown, int64(1))
		one := NewScript("return 1")
		with := WithScripts(WithRetry(s, RetryOpts{}), one)
		require.Equal(t, int64(1), SyncCtx{with}.Send(t.Context(), one.Request([]string{"k"})))
		require.Equal(t, []string{"EVALSHA", "EVALSHA", "EVAL", "EVALSHA"}, s.sent, "the last attempt begins by the hash again")
	})
}

// A budget limits how many requests are sent again. Requests that were not sent do not count.
func TestRetryBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const requests = 10_000
		s := scripted(errLost)
		retries := SyncCtx{WithRetry(s, RetryOpts{Within: time.Minute})}
		for range requests {
			require.ErrorIs(t, Err(retries.Do(t.Context(), "GET", "k")), ErrUnknown)
		}
		require.Greater(t, len(s.sent), requests)
		require.InDelta(t, requests+requests/(send.BudgetShare+1)+send.BudgetFirst, len(s.sent), requests/20) // the tolerance is more than six standard deviations of the sampling

		s.set(errDown)
		s.sent = nil
		err := Err(retries.Do(t.Context(), "GET", "k"))
		require.ErrorIs(t, err, ErrNotSent)
		require.Greater(t, len(s.sent), trialsKept)
	})
}

// If the user allows it, a write that may run twice is sent again, also in a transaction.
func TestRetryIdempotentWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set, incr := Req("SET", "k", 1), Req("INCR", "k")
		for _, c := range []struct {
			opts     RetryOpts
			reqs     []Request
			attempts int
		}{
			{RetryOpts{}, []Request{set}, 1},
			{RetryOpts{IdempotentWrites: true}, []Request{set}, 2},
			{RetryOpts{IdempotentWrites: true}, []Request{incr}, 1},
			{RetryOpts{IdempotentWrites: true}, []Request{set, incr}, 1},
		} {
			s := scripted(errLost, []any{"OK"})
			_, _ = SyncCtx{WithRetry(s, c.opts)}.SendTransaction(t.Context(), c.reqs)
			require.Len(t, s.sent, c.attempts)
			if len(c.reqs) == 1 {
				s = scripted(errLost, "OK")
				_ = SyncCtx{WithRetry(s, c.opts)}.Send(t.Context(), c.reqs[0])
				require.Len(t, s.sent, c.attempts)
			}
		}
	})
}

// counting is a connection that reports how many requests it has sent.
type counting struct {
	*ownSender
	requests uint64
}

func (c *counting) Requests() uint64 { return c.requests }

// The budget is a share of the requests that a connection counts. Unused budget is kept only up to
// a limit.
func TestBudgetOfCounter(t *testing.T) {
	c := &counting{ownSender: &ownSender{}}
	r := WithRetry(c, RetryOpts{}).(*retrying)
	taken := func() (n int) {
		for r.Take(1) {
			n++
		}
		return n
	}
	require.Equal(t, send.BudgetFirst*send.BudgetShare/(send.BudgetShare+1), taken())
	c.requests = 1_000
	require.InDelta(t, 1_000/(send.BudgetShare+1), taken(), 1)
	c.requests = 500 // fewer, because connections were closed
	require.Zero(t, taken())
	c.requests = 1_500
	require.InDelta(t, 1_000/(send.BudgetShare+1), taken(), 1)
	c.requests = 1_000_000
	require.Equal(t, send.BudgetMost*send.BudgetShare/(send.BudgetShare+1), taken())

	const most, many = send.BudgetMost * send.BudgetShare, 2 * send.BudgetMost
	c.requests += most - send.BudgetShare
	require.False(t, r.Take(many))
	c.requests += send.BudgetShare
	require.True(t, r.Take(many), "more than can be saved up, because the most is")
	c.requests += many*(send.BudgetShare+1) - most
	require.False(t, r.Take(1), "the requests only allow those that were taken")
	c.requests += send.BudgetShare + 1
	require.True(t, r.Take(1))
}

// A step of an iteration is sent again like a read.
func TestRetryOfScanner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		steps := []any{errDown, []string{"a"}, errLost, []string{"b"}, ScanEOF}
		s := &foreignSender{scanner: func(ScanOpts) Scanner {
			return stepping(func(cb Future) {
				res := steps[0]
				steps = steps[1:]
				cb.Resolve(res, 0)
			})
		}}
		var keys []string
		for key, err := range Keys(t.Context(), WithRetry(WithHook(s, &recording{}), RetryOpts{}), ScanOpts{}) {
			require.NoError(t, err)
			keys = append(keys, key)
		}
		require.Equal(t, []string{"a", "b"}, keys)
	})
}

type stepping func(cb Future)

func (s stepping) Next(cb Future) { s(cb) }

// errors.Is finds the errors of all attempts.
func TestAttemptsOf(t *testing.T) {
	require.Nil(t, AttemptsOf(nil))
	require.Nil(t, AttemptsOf(errors.New("x")))
	require.Nil(t, AttemptsOf(errLost))
	synctest.Test(t, func(t *testing.T) {
		err := Err(SyncCtx{WithRetry(scripted(errDown, errLost), RetryOpts{})}.Do(t.Context(), "INCR", "k"))
		all := AttemptsOf(fmt.Errorf("wrapped: %w", err))
		require.Len(t, all, 2)
		require.ErrorIs(t, all[0], ErrNotSent)
		require.ErrorIs(t, all[1], ErrUnknown)
	})
}

// movable is a sender whose connection is down, but whose requests another connection may take.
type movable struct{ *restoring }

func (m *movable) Restored() <-chan struct{} { return nil }

// If another connection may take a request, the next attempt does not wait until the failed one is
// restored.
func TestRetryAwaitsNoConnectionThatIsLeft(t *testing.T) {
	virtualtime.Run(t, func(t *testing.T) {
		attempts := 0
		down := &restoring{up: make(chan struct{})}
		s := &movable{&restoring{ownSender: &ownSender{encoded: func(_ *send.Request, cb Future, n uint64) {
			if attempts++; attempts == 1 {
				cb.Resolve(errDown.WithProperty(errs.EKConnection, down), n)
				return
			}
			cb.Resolve(int64(7), n)
		}}}}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		began := time.Now()
		require.Equal(t, int64(7), SyncCtx{WithRetry(s, RetryOpts{})}.Do(ctx, "INCR", "k"))
		require.Zero(t, time.Since(began))
	})
}
