package torture

import (
	"context"
	"math/rand"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/lab/drill"
	"github.com/joomcode/redispipe/internal/lab/oracle"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redistest/chaos"
)

// forbidden are commands that would block a shared socket, or change its state.
const forbidden = `BLPOP a 0
BRPOP a 0
BRPOPLPUSH a b 0
BLMOVE a b LEFT LEFT 0
BLMPOP 0 1 a LEFT
BZPOPMIN a 0
BZPOPMAX a 0
BZMPOP 0 1 a MIN
XREAD BLOCK 0 STREAMS a $
xread count 1 block 0 streams a $
XREADGROUP GROUP g c BLOCK 0 STREAMS a >
WAIT 1 0
WAITAOF 1 0 0
SAVE
WATCH a
SUBSCRIBE a
PSUBSCRIBE a
SSUBSCRIBE a
MONITOR
SYNC
PSYNC ? -1
RESET
QUIT
CLIENT REPLY OFF
client reply skip
MULTI
multi
EXEC
DISCARD
SELECT 1
AUTH password
HELLO 3
READONLY
READWRITE
ASKING
CLIENT TRACKING on
CLIENT NO-EVICT on`

// T13: state-changing and blocking commands among normal traffic are refused, alone, in batches and
// in transactions, and do not affect other requests.
func TestT13ForbiddenCommands(t *testing.T) {
	opts := untimed()
	opts.DedicatedConns = -1
	r := newRig(t, RigOpts{Conn: opts})
	ctx, stop := context.WithCancel(context.Background())
	load := r.Load(8, 0)
	load.Window, load.Pause = 8, time.Millisecond
	var wg sync.WaitGroup
	wg.Go(func() { load.Run(ctx) })
	sync := redis.Sync{S: r.Conn}
	refuses := func(what string, res any) {
		e := redis.AsErrorx(res)
		require.NotNil(t, e, what)
		require.True(t, e.IsOfType(redis.ErrCommandForbidden), "%s: %v", what, e)
		require.True(t, e.HasTrait(redis.ErrTraitNotSent), what)
	}
	for _, line := range strings.Split(forbidden, "\n") {
		words := strings.Fields(line)
		args := make([]any, len(words)-1)
		for i, word := range words[1:] {
			args[i] = word
		}
		req := redis.Req(words[0], args...)
		refuses(line, sync.Send(req))
		if len(args) > 0 { // the form "CLIENT REPLY", in one string
			refuses(line, sync.Send(redis.Req(words[0]+" "+words[1], args[1:]...)))
		}
		results := sync.SendMany([]redis.Request{redis.Req("PING"), req, redis.Req("PING")})
		refuses(line, results[1])
		require.True(t, redis.AsErrorx(results[0]).IsOfType(redis.ErrBatchFormat), line)
		_, err := sync.SendTransaction([]redis.Request{redis.Req("PING"), req})
		require.Error(t, err, line)
		require.True(t, redis.AsErrorx(err).HasTrait(redis.ErrTraitNotSent), line)
	}
	stop()
	wg.Wait()
	report, _ := judge(t, r)
	require.Equal(t, report.Requests(), report.Outcomes(oracle.Value))
	require.Zero(t, r.Events.Count("LogDisconnected"))
	require.Equal(t, 1, r.Events.Count("LogConnected"))
}

// T14: very many requests have contexts that end within 5 ms, or later if no request is answered
// that soon.
func TestT14CancelledContexts(t *testing.T) {
	drill.Rotate(t)
	r := newRig(t, RigOpts{Conn: untimed()})
	const callers = 500
	rounds, most := long(200, 40), 0
	both := func() bool { // some requests are answered, and some are not
		ended := r.Ledger.Report.Outcomes(oracle.NotSent) + r.Ledger.Report.Outcomes(oracle.Unknown)
		return ended > 0 && r.Ledger.Report.Outcomes(oracle.Value) > 0
	}
	watch := oracle.WatchResources(5*time.Millisecond, false)
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			rnd := rand.New(rand.NewSource(seed + int64(i)))
			for n := 0; n < rounds || !both(); n++ {
				req, id := r.Log.Issue("log:" + string(rune('a'+i%26)) + strings.Repeat("x", i/26))
				within := time.Duration(rnd.Intn(5000)) * time.Microsecond
				ctx, cancel := context.WithTimeout(context.Background(), within*time.Duration(1+n/rounds))
				r.Ledger.Resolve(redis.SyncCtx{S: r.Conn}.Send(ctx, req), id)
				cancel()
				if r.Ledger.Outcome(id) == oracle.NotSent {
					time.Sleep(refusedPause)
				}
			}
		})
	}
	wg.Wait()
	for _, s := range watch.Stop() {
		most = max(most, s.Goroutines)
	}
	report, _ := judge(t, r)
	require.True(t, both(), report)
	require.Zero(t, r.Events.Count("LogDisconnected"))
	// A context whose deadline passes uses a goroutine for a moment.
	require.Less(t, most, 2*callers+100, "no goroutine is parked per cancelled call")
}

// T14: requests are cancelled while no request is answered. The queue does not fill up with them.
func TestT14CancelledWhileFrozen(t *testing.T) {
	opts := untimed()
	opts.MaxRequests = 200
	r := newRig(t, RigOpts{Conn: opts})
	r.Proxy.Arm(chaos.Fault{Do: chaos.Delay, On: chaos.Requests, At: chaos.Now(), Interval: time.Hour})
	var wg sync.WaitGroup
	for range 100 {
		wg.Go(func() {
			for range 20 {
				id := r.Ledger.IssueTagged(oracle.IsBulk)
				ctx, cancel := context.WithTimeout(context.Background(), 5*time.Millisecond)
				r.Ledger.Resolve(redis.SyncCtx{S: r.Conn}.Do(ctx, "ECHO", r.Ledger.Tag(id)), id)
				cancel()
			}
		})
	}
	wg.Wait()
	r.Proxy.Heal()
	r.Load(10, 20).Run(context.Background())
	report, _ := judge(t, r)
	require.Positive(t, report.Outcomes(oracle.NotSent))
	require.Zero(t, r.Events.Count("LogDisconnected"))
}
