package redisfailover

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest"
	"github.com/joomcode/redispipe/redistest/memserver"
	"github.com/joomcode/redispipe/testbed"
)

// well is a probe that always succeeds.
func well(context.Context, redis.Sender) error { return nil }

// mocks returns a client of two members of another library, a and b.
func mocks(t *testing.T, opts Opts) (db *Client, a, b *redistest.Mock) {
	a, b = redistest.NewMock(t), redistest.NewMock(t)
	opts.Probe, opts.Logger, opts.Patience = well, NoopLogger{}, time.Minute
	db, err := Open(t.Context(), []Member{{Name: "a", Sender: a, Weight: 1}, {Name: "b", Sender: b}}, opts)
	require.NoError(t, err)
	t.Cleanup(db.Close)
	return db, a, b
}

// The slots of requests are found only if a member may need them.
func TestWantsSlot(t *testing.T) {
	server := testbed.NewServer(t)
	one := Member{URL: "redis://" + server.Addr(), Options: []redispipe.Option{redispipe.Logger(nil)}}
	list := Member{URL: "redis-replicated://" + server.Addr(), Options: one.Options}
	for _, tt := range []struct {
		members []Member
		ramp    time.Duration
		wants   bool
	}{
		{[]Member{one, one}, 0, false},
		{[]Member{one, {Sender: redistest.NewMock(t)}}, 0, false},
		{[]Member{one, one}, time.Minute, true},
		{[]Member{one, list}, 0, true},
		{[]Member{one, {URL: "redis-replicated://127.0.0.1:1", Options: one.Options}}, 0, true},
	} {
		db, err := Open(t.Context(), tt.members, Opts{Logger: NoopLogger{}, Ramp: tt.ramp, Probe: well})
		require.NoError(t, err)
		require.Equal(t, tt.wants, (&sender{db}).WantsSlot(), "%v", tt.members)
		db.Close()
	}
}

// Requests go to the active member, no matter how they are sent.
func TestSendsToTheActiveMember(t *testing.T) {
	db, a, b := mocks(t, Opts{})
	ctx := t.Context()
	for _, at := range []*redistest.Mock{a, b} {
		at.Expect("INCR", "n").Reply(int64(7))
		at.Expect("GET", "a").Reply([]byte("x"))
		at.Expect("GET", "b").Reply([]byte("y"))
		at.ExpectTransaction(redis.Req("INCR", "n")).Reply([]any{int64(8)})
		at.Expect("INCR", "future").Reply(int64(9))
		at.Expect("INCR", "shard").Reply(int64(10))
		var n int64
		require.NoError(t, db.DoInto(ctx, &n, "INCR", "n"))
		require.EqualValues(t, 7, n)
		require.Equal(t, []any{[]byte("x"), []byte("y")}, db.DoMany(ctx, []redis.Request{redis.Req("GET", "a"), redis.Req("GET", "b")}))
		results, err := db.Transact(ctx, []redis.Request{redis.Req("INCR", "n")})
		require.NoError(t, err)
		require.Equal(t, []any{int64(8)}, results)
		got := make(chan any, 2)
		db.Send(redis.Req("INCR", "future"), redis.FuncFuture(func(res any, n uint64) { got <- res; got <- n }), 3)
		require.Equal(t, int64(9), <-got)
		require.Equal(t, uint64(3), <-got)
		at.SetShards(at)
		db.EachShard(func(shard redis.Sender, err error) bool {
			require.NoError(t, err)
			require.Equal(t, int64(10), redis.SyncCtx{S: shard}.Do(ctx, "INCR", "shard"))
			return true
		})
		require.NoError(t, db.SwitchTo("b"))
	}
}

// ticketed is a future that counts the tickets that it gets.
type ticketed struct {
	resolved chan any
	tickets  atomic.Int64
}

func (f *ticketed) Resolve(res any, _ uint64) { f.resolved <- res }
func (*ticketed) Cancelled() error            { return nil }
func (f *ticketed) Queued(send.Ticket)        { f.tickets.Add(1) }

// A connection gives a future its ticket after it has sent the request, which may already be resolved by
// then. So the attempt must not have been reused for another request.
func TestTicketsOfFutures(t *testing.T) {
	server, err := memserver.Start()
	require.NoError(t, err)
	t.Cleanup(server.Close)
	conn, err := redisconn.Connect(t.Context(), server.Addr(), redisconn.Opts{IOTimeout: time.Minute, Logger: redisconn.NoopLogger{}})
	require.NoError(t, err)
	db, err := Open(t.Context(), []Member{{Sender: conn}}, Opts{Probe: well, Logger: NoopLogger{}})
	require.NoError(t, err)
	t.Cleanup(db.Close)
	for range 1000 {
		f := &ticketed{resolved: make(chan any, 1)}
		db.Send(redis.Req("GET", "k"), f, 0)
		require.Nil(t, <-f.resolved)
		require.EqualValues(t, 1, f.tickets.Load())
	}
}

// The budget of retries grows with the requests that a member answers, and not with those that fail.
func TestCountsRequests(t *testing.T) {
	db, a, b := mocks(t, Opts{})
	answered := func() uint64 { return db.members[0].good.Load() + db.members[1].good.Load() }
	before := (&sender{db}).Requests()
	a.Expect("GET", "k").Reply("v")
	require.Equal(t, "v", db.Do(t.Context(), "GET", "k"))
	require.NoError(t, db.SwitchTo("b"))
	b.Expect("GET", "k").Reply("v")
	require.Equal(t, "v", db.Do(t.Context(), "GET", "k"))
	require.GreaterOrEqual(t, (&sender{db}).Requests(), before+2)
	b.Expect("GET", "k").NotSent()
	ended := make(chan struct{})
	db.Send(redis.Req("GET", "k"), redis.FuncFuture(func(any, uint64) { close(ended) }), 0)
	<-ended
	require.Positive(t, db.members[1].bad.Load())
	least := answered() // probes count as well
	counted := (&sender{db}).Requests()
	require.GreaterOrEqual(t, counted, least)
	require.LessOrEqual(t, counted, answered())
}

// A request with a future is sent once, whatever its outcome.
func TestFuturesAreSentOnce(t *testing.T) {
	db, a, _ := mocks(t, Opts{})
	a.Expect("GET", "k").NotSent()
	a.Expect("GET", "k").Unknown()
	for _, outcome := range []redis.Outcome{redis.OutcomeNotSent, redis.OutcomeUnknown} {
		got := make(chan any, 1)
		db.Send(redis.Req("GET", "k"), redis.FuncFuture(func(res any, _ uint64) { got <- res }), 0)
		require.Equal(t, outcome, redis.OutcomeOf(<-got))
	}
}

// An iteration begins again on the member that has become active.
func TestScannerBeginsAgain(t *testing.T) {
	db, a, b := mocks(t, Opts{})
	a.ExpectScan(redis.ScanOpts{}, []string{"1"}, []string{"2"})
	b.ExpectScan(redis.ScanOpts{}, []string{"1"}, []string{"2"})
	it := redis.SyncCtx{S: db}.Scanner(t.Context(), redis.ScanOpts{})
	next := func() []string {
		keys, err := it.Next()
		require.NoError(t, err)
		return keys
	}
	require.Equal(t, []string{"1"}, next())
	require.Equal(t, []string{"2"}, func() []string { keys := next(); require.NoError(t, db.SwitchTo("b")); return keys }())
	require.Equal(t, []string{"1"}, next())
	require.Equal(t, []string{"2"}, next())
	for range 2 {
		_, err := it.Next()
		require.Equal(t, redis.ScanEOF, err)
		require.NoError(t, db.SwitchTo("a"), "an iteration that has ended stays so")
	}
}

// Hooks see each attempt.
func TestHooksSeeEachAttempt(t *testing.T) {
	seen := make(attempted, 2)
	db, a, _ := mocks(t, Opts{Hooks: []redis.Hook{seen}})
	a.Expect("INCR", "k").NotSent()
	a.Expect("INCR", "k").Reply(int64(1))
	require.Equal(t, int64(1), db.Do(t.Context(), "INCR", "k"))
	require.Equal(t, redis.OutcomeNotSent, <-seen)
	require.Equal(t, redis.OutcomeValue, <-seen)
}

// attempted is a hook that sends the outcome of each attempt on the channel.
type attempted chan redis.Outcome

func (attempted) Before(ctx context.Context, _ redis.Operation) context.Context { return ctx }

func (a attempted) After(_ context.Context, _ redis.Operation, end redis.Completion) {
	a <- end.Outcome
}

// A member of another library has no sessions, and the error says so.
func TestNoSessions(t *testing.T) {
	db, _, _ := mocks(t, Opts{})
	err := db.Session(t.Context(), "", func(*redis.Session) error { return nil })
	require.True(t, redis.AsErrorx(err).IsOfType(redis.ErrSession), "%v", err)
	require.ErrorContains(t, err, "a is a *redistest.Mock")
}

// After Close nothing is sent, and no member becomes active.
func TestClose(t *testing.T) {
	db, _, _ := mocks(t, Opts{})
	db.Close()
	require.ErrorIs(t, redis.Err(db.Do(t.Context(), "INCR", "k")), redis.ErrNotSent)
	err := db.SwitchTo("b")
	require.True(t, redis.AsErrorx(err).IsOfType(redis.ErrContextClosed), "%v", err)
	require.NoError(t, db.Shutdown(t.Context()))
}

// A logger may close the client, and may panic.
func TestLoggerMayClose(t *testing.T) {
	seen := make(chan LogEvent, 1)
	db, err := Open(t.Context(), []Member{{Name: "a", Sender: redistest.NewMock(t)}, {Name: "b", Sender: redistest.NewMock(t)}}, Opts{
		Probe: well, Patience: time.Minute, Logger: reports(func(c *Client, event LogEvent) {
			c.Close()
			seen <- event
			panic("a logger")
		}),
	})
	require.NoError(t, err)
	require.NoError(t, db.SwitchTo("b"))
	require.Equal(t, LogShift{From: "a", To: "b", Reason: Switched}, <-seen)
}

type reports func(c *Client, event LogEvent)

func (r reports) Report(c *Client, event LogEvent) { r(c, event) }
