package torture

import (
	"context"
	"io"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/oracle"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/testbed"
)

// slowServer answers ECHO once per interval, on all its connections together.
func slowServer(t *testing.T, interval time.Duration) *testbed.ScriptedServer {
	var mu sync.Mutex // guards next
	next := time.Now()
	return testbed.NewScripted(t, testbed.ScriptedOpts{Handler: func(c *testbed.ScriptedConn, r testbed.ScriptedRequest) error {
		mu.Lock()
		next = next.Add(interval)
		if now := time.Now(); next.Before(now.Add(-10 * interval)) {
			next = now // it was idle
		}
		wait := time.Until(next)
		mu.Unlock()
		if wait > time.Millisecond { // a shorter sleep takes as long
			if err := c.Sleep(wait); err != nil {
				return err
			}
		}
		_, err := io.WriteString(c, testbed.ScriptedBulk(r.Args[0]))
		return err
	}})
}

// offer sends requests at a rate for a while, each with a deadline and a
// goroutine of its own, and returns how many were answered in time per second.
func offer(conn *redisconn.Connection, ledger *oracle.Ledger, rate float64, d, deadline time.Duration) float64 {
	var wg sync.WaitGroup
	var good atomic.Int64
	begin := time.Now()
	for sent := 0.0; time.Since(begin) < d; time.Sleep(time.Millisecond) {
		for ; sent < time.Since(begin).Seconds()*rate; sent++ {
			wg.Go(func() {
				id := ledger.IssueTagged(oracle.IsBulk)
				ctx, cancel := context.WithTimeout(context.Background(), deadline)
				defer cancel()
				res := redis.SyncCtx{S: conn}.Do(ctx, "ECHO", ledger.Tag(id))
				ledger.Resolve(res, id)
				if redis.AsError(res) == nil {
					good.Add(1)
				}
			})
		}
	}
	wg.Wait()
	return float64(good.Load()) / time.Since(begin).Seconds()
}

// Overload: at twice of what the server can do, it does not get less done.
func TestOverloadGoodput(t *testing.T) {
	beside(t)
	const interval, deadline, d = time.Millisecond, 100 * time.Millisecond, 3 * time.Second
	capacity := float64(time.Second / interval)
	family := oracle.NewFamily()
	s := slowServer(t, interval)
	ledger := oracle.NewLedger("overload")
	conn, err := redisconn.Connect(context.Background(), s.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}})
	require.NoError(t, err)
	defer conn.Close()
	// A machine that is busy elsewhere may spoil one comparison.
	good := false
	for attempt := 0; attempt < 5 && !good; attempt++ {
		below := offer(conn, ledger, 0.9*capacity, d/2, deadline)
		twice := offer(conn, ledger, 2*capacity, d, deadline)
		t.Logf("capacity %.0f/s; answered in time at 0.9 of it %.0f/s, at twice %.0f/s", capacity, below, twice)
		good = twice >= 0.9*below
	}
	require.True(t, good, "goodput at twice the capacity")
	conn.Close()
	report := ledger.Finish(time.Second)
	family.Settle(report, patience, engines...)
	passes(t, report)
	require.Positive(t, report.Outcomes(oracle.NotSent))
}

// Shutdown answers what is in flight, and refuses what comes later.
func TestShutdownUnderLoad(t *testing.T) {
	server := testbed.NewServer(t)
	for i := range long(20, 5) {
		r := newRig(t, RigOpts{Name: t.Name() + string(rune('a'+i)), Server: server, Conn: untimed()})
		load := r.Load(16, 0)
		load.Window = 16
		stop := background(load)
		require.Eventually(t, func() bool { return r.Ledger.Issued() > uint64(i*100) }, patience, 10*time.Microsecond)
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		require.NoError(t, r.Conn.Shutdown(ctx))
		cancel()
		late := r.Ledger.Issued()
		require.Eventually(t, func() bool { return r.Ledger.Issued() > late }, patience, 10*time.Microsecond)
		stop()
		report, _ := judge(t, r)
		require.Zero(t, report.Outcomes(oracle.Unknown), "all that was in flight is answered")
		require.Positive(t, report.Outcomes(oracle.NotSent))
		r.Close()
	}
}

// Shutdown whose context ends: what is left is told, and resolved.
func TestShutdownOfFrozenServer(t *testing.T) {
	r := newRig(t, RigOpts{Conn: untimed()})
	r.Proxy.Arm(testbed.ProxyFault{Do: testbed.ProxyDelay, On: testbed.ProxyReplies, At: testbed.ProxyNow(), Interval: time.Hour})
	for range 100 {
		id := r.Ledger.IssueTagged(oracle.IsBulk)
		r.Conn.Send(redis.Req("ECHO", r.Ledger.Tag(id)), r.Ledger, id)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	begin := time.Now()
	err := r.Conn.Shutdown(ctx)
	require.Less(t, time.Since(begin), 50*time.Millisecond+slack)
	require.Error(t, err)
	require.NotNil(t, redis.AsErrorx(err), "%v", err)
	require.Contains(t, err.Error(), "100")
	passes(t, r.Ledger.Finish(patience))
	r.Proxy.Heal()
}
