package redismirror

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/slot"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest"
)

// mocks returns a Mirror of two senders.
func mocks(t *testing.T, opts Opts) (m *Mirror, from, to *redistest.Mock) {
	from, to = redistest.NewMock(t), redistest.NewMock(t)
	m, err := New(from, to, opts)
	require.NoError(t, err)
	t.Cleanup(m.Close)
	return m, from, to
}

// settle waits until all requests were repeated.
func settle(t *testing.T, m *Mirror) {
	require.Eventually(t, func() bool { return m.Stats().Pending == 0 }, time.Minute, time.Millisecond)
}

// Whether the key of a write is listed depends on its outcomes on both databases.
func TestOutcomes(t *testing.T) {
	for name, tt := range map[string]struct {
		from, to func(*redistest.Expectation)
		kind     Kind
	}{
		"both answer":             {func(e *redistest.Expectation) { e.Reply(int64(1)) }, func(e *redistest.Expectation) { e.Reply(int64(1)) }, 0},
		"different answers":       {func(e *redistest.Expectation) { e.Reply(int64(1)) }, func(e *redistest.Expectation) { e.Reply(int64(2)) }, Different},
		"the new one refuses":     {func(e *redistest.Expectation) { e.Reply(int64(1)) }, func(e *redistest.Expectation) { e.ServerError("OOM no") }, Failed},
		"not sent to the new one": {func(e *redistest.Expectation) { e.Reply(int64(1)) }, func(e *redistest.Expectation) { e.NotSent() }, Failed},
		"unknown on the new one":  {func(e *redistest.Expectation) { e.Reply(int64(1)) }, func(e *redistest.Expectation) { e.Unknown() }, Failed},
		"the old one refuses":     {func(e *redistest.Expectation) { e.ServerError("OOM no") }, nil, 0},
		"not sent to the old one": {func(e *redistest.Expectation) { e.NotSent() }, nil, 0},
		"unknown on the old one":  {func(e *redistest.Expectation) { e.Unknown() }, nil, Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			m, from, to := mocks(t, Opts{})
			tt.from(from.Expect("INCR", "k"))
			if tt.to != nil {
				tt.to(to.Expect("INCR", "k"))
			}
			redis.SyncCtx{S: m}.Do(t.Context(), "INCR", "k")
			settle(t, m)
			findings := m.Findings()
			if tt.kind == 0 {
				require.Empty(t, findings)
				return
			}
			require.Len(t, findings, 1)
			require.Equal(t, "k", findings[0].Key)
			require.Equal(t, "INCR", findings[0].Command)
			require.Equal(t, tt.kind, findings[0].Kind, findings[0].Kind)
			require.Equal(t, 1, findings[0].Count)
		})
	}
}

// No matter how requests are sent, they are repeated, and their callers get the answer of the old database.
func TestSends(t *testing.T) {
	ctx := t.Context()
	m, from, to := mocks(t, Opts{Reads: 1})
	for _, at := range []*redistest.Mock{from, to} {
		at.Expect("GET", "k").Reply([]byte("7"))
		at.Expect("SET", "a", "x").Reply("OK")
		at.Expect("SET", "b", "y").Reply("OK")
		at.ExpectTransaction(redis.Req("INCR", "n"), redis.Req("GET", "n")).Reply([]any{int64(8), []byte("8")})
		at.Expect("PUBLISH", "c", "m").Reply(int64(1))
	}
	from.Expect("PING").Reply("PONG")
	from.Expect("TIME").Reply([]any{[]byte("1"), []byte("2")})
	db := redis.SyncCtx{S: m}
	var n int
	require.NoError(t, db.DoInto(ctx, &n, "GET", "k"))
	require.Equal(t, 7, n)
	value := []byte("x")
	got := make(chan any, 2)
	m.SendMany([]redis.Request{redis.Req("SET", "a", value), redis.Req("SET", "b", "y")}, redis.FuncFuture(func(res any, n uint64) { got <- fmt.Sprint(res, n) }), 5)
	value[0] = 'z' // the caller may change its arguments
	require.ElementsMatch(t, []any{"OK5", "OK6"}, []any{<-got, <-got})
	results, err := db.Transact(ctx, []redis.Request{redis.Req("INCR", "n"), redis.Req("GET", "n")})
	require.NoError(t, err)
	require.Equal(t, []any{int64(8), []byte("8")}, results)
	require.Equal(t, int64(1), db.Do(ctx, "PUBLISH", "c", "m"))
	require.Equal(t, "PONG", db.Do(ctx, "PING"))
	require.NoError(t, redis.Err(db.Do(ctx, "TIME")))
	settle(t, m)
	require.Empty(t, m.Findings())
	require.Equal(t, uint64(4), m.Stats().Writes)
	require.Equal(t, uint64(1), m.Stats().Reads)
}

// Requests that can't be mirrored are not sent.
func TestRefuses(t *testing.T) {
	ctx := t.Context()
	m, from, to := mocks(t, Opts{})
	db := redis.SyncCtx{S: m}
	refused := func(err error) {
		t.Helper()
		require.ErrorIs(t, err, redis.ErrNotSent)
	}
	refused(redis.Err(db.Do(ctx, "BLPOP", "k", 1)))
	refused(redis.WithSession(ctx, m, "", func(*redis.Session) error { return nil }))
	for i, res := range db.SendMany(ctx, []redis.Request{redis.Req("SET", "k", "v"), redis.Req("SET", "k", struct{}{})}) {
		require.Error(t, redis.Err(res), i)
	}
	require.NoError(t, m.CutOver(ctx, 0.5))
	var keys [2]string
	for i := 0; keys[0] == "" || keys[1] == ""; i++ {
		key := fmt.Sprint("key", i)
		keys[m.gates.side(int(slot.Of(key)))] = key
	}
	for _, err := range []error{
		redis.Err(db.Do(ctx, "MSET", keys[0], 1, keys[1], 1)), redis.Err(db.Do(ctx, "MGET", keys[0], keys[1])), redis.Err(db.Do(ctx, "FLUSHALL")),
	} {
		refused(err)
		require.True(t, redis.AsErrorx(err).IsOfType(ErrBothSides), "%v", err)
	}
	from.Expect("GET", keys[0]).Reply([]byte("old"))
	to.Expect("GET", keys[1]).Reply([]byte("new"))
	require.Equal(t, []byte("old"), db.Do(ctx, "GET", keys[0]))
	require.Equal(t, []byte("new"), db.Do(ctx, "GET", keys[1]))
	require.NoError(t, m.CutOver(ctx, 0.5), "nothing was left in flight")

	for _, share := range []float64{-1, 1.5, 50, math.NaN()} {
		require.True(t, redis.AsErrorx(m.CutOver(t.Context(), share)).IsOfType(ErrShare), share)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, m.CutOver(ended, 1), context.Canceled)
	require.Equal(t, 0.5, m.Stats().Share)
}

// New returns errors for invalid senders and options.
func TestNewRefuses(t *testing.T) {
	from, to := redistest.NewMock(t), redistest.NewMock(t)
	for _, sides := range [][2]redis.Sender{
		{nil, to}, {from, nil}, {from, (*redistest.Mock)(nil)}, {(*redisconn.Connection)(nil), to},
		{from, from}, {from, redis.WithRetry(from, redis.RetryOpts{})}, {(*Mirror)(nil), to},
	} {
		_, err := New(sides[0], sides[1], Opts{})
		require.True(t, redis.AsErrorx(err).IsOfType(ErrSenders), "%v", err)
	}
	for name, opts := range map[string]Opts{
		"Reads must be from 0 to 1, not 1.5": {Reads: 1.5}, "not -0.5": {Reads: -0.5}, "not NaN": {Reads: math.NaN()},
		"MaxPending": {MaxPending: -1}, "MaxPending must be from": {MaxPending: math.MaxInt}, "MaxFindings": {MaxFindings: -1},
	} {
		_, err := New(from, to, opts)
		require.True(t, redis.AsErrorx(err).IsOfType(redis.ErrOption), "%v", err)
		require.ErrorContains(t, err, name)
	}
}

// If each database decides for some keys of a request, redis.WithRetry does not retry the request.
func TestBothSidesIsNotRetried(t *testing.T) {
	m, _, _ := mocks(t, Opts{})
	require.NoError(t, m.CutOver(t.Context(), 0.5))
	err := redis.Err(redis.SyncCtx{S: redis.WithRetry(m, redis.RetryOpts{})}.Do(t.Context(), "FLUSHALL"))
	require.True(t, redis.AsErrorx(err).IsOfType(ErrBothSides), "%v", err)
	require.ErrorIs(t, err, redis.ErrNotSent)
	require.Empty(t, redis.AttemptsOf(err))
	require.False(t, redis.SafeToRetry(err))
}

// Watch and sessions through a Mirror fail, and the error does not advise a sender that bypasses it.
func TestNoSessions(t *testing.T) {
	m, _, _ := mocks(t, Opts{})
	for _, s := range []redis.Sender{m, redis.WithRetry(m, redis.RetryOpts{})} {
		_, err := redis.Watch(t.Context(), s, []string{"k"}, func(*redis.Tx) error { return nil })
		require.True(t, redis.AsErrorx(err).IsOfType(redis.ErrSession), "%v", err)
		require.ErrorIs(t, err, redis.ErrNotSent)
		require.ErrorContains(t, err, "a *redismirror.Mirror has no sessions: it can't repeat")
	}
}

// All methods of a closed Mirror return the same error.
func TestClosed(t *testing.T) {
	m, _, _ := mocks(t, Opts{})
	m.Close()
	ctx := t.Context()
	_, copied := m.Copy(ctx, redis.ScanOpts{})
	_, repaired := m.Repair(ctx)
	db := redis.SyncCtx{S: redis.WithRetry(m, redis.RetryOpts{})}
	_, transacted := db.SendTransaction(ctx, []redis.Request{redis.Req("INCR", "k")})
	for i, err := range []error{
		copied, repaired, transacted, m.CutOver(ctx, 0), m.CutOver(ctx, 1), redis.Err(db.Do(ctx, "GET", "k")), redis.Err(db.Do(ctx, "INCR", "k")),
		redis.Err(db.SendMany(ctx, []redis.Request{redis.Req("INCR", "k")})[0]),
	} {
		require.True(t, redis.AsErrorx(err).IsOfType(redis.ErrContextClosed), "%d: %v", i, err)
		require.ErrorContains(t, err, "the Mirror is closed", i)
	}
}

// silent is a sender that accepts requests and never answers.
type silent struct{ redis.Sender }

func (silent) Send(redis.Request, redis.Future, uint64) {}
func (silent) Close()                                   {}

// A dead database does not delay callers, and takes bounded memory; keys are listed up to the bound. If
// keys can't be cut over, the old database still decides for them, and their writes continue.
func TestDeadDatabase(t *testing.T) {
	from := redistest.NewMock(t)
	m, err := New(from, silent{}, Opts{MaxPending: 10, MaxFindings: 20, Reads: 1})
	require.NoError(t, err)
	t.Cleanup(m.Close)
	db := redis.SyncCtx{S: m}
	for i := range 100 {
		from.Expect("SET", i, "v").Reply("OK")
		require.Equal(t, "OK", db.Do(t.Context(), "SET", i, "v"))
		from.Expect("GET", i).Reply([]byte("v"))
		require.Equal(t, []byte("v"), db.Do(t.Context(), "GET", i))
	}
	stats := m.Stats()
	require.Equal(t, 10, stats.Pending)
	require.Equal(t, uint64(190), stats.Dropped)
	require.Equal(t, 20, stats.Findings)
	require.Len(t, m.Findings(), 20)
	require.Equal(t, 95-20, stats.Unlisted, "5 of 100 writes are pending")
	ctx, cancel := context.WithCancel(t.Context())
	cut := make(chan error)
	go func() { cut <- m.CutOver(ctx, 1) }()
	of := int(slot.Of("key"))
	require.Eventually(t, m.gates.of[of].closed.Load, time.Minute, time.Millisecond)
	from.Expect("SET", "key", "v").Reply("OK")
	from.Expect("SET", "key", "w").Reply("OK")
	got := make(chan any, 2)
	value := []byte("v")
	for range 2 {
		m.Send(redis.Req("SET", "key", value), redis.FuncFuture(func(res any, _ uint64) { got <- res }), 0)
		value[0]++
	}
	require.Empty(t, got, "they wait")
	cancel()
	require.ErrorIs(t, <-cut, context.Canceled)
	require.Equal(t, []any{"OK", "OK"}, []any{<-got, <-got})
	require.Zero(t, m.Stats().Share)
}
