package torture

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/lab/drill"
	"github.com/joomcode/redispipe/internal/lab/oracle"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest/chaos"
)

// T4: connections are reset at full load, half of them after a request was executed and before the
// reply.
func TestT4ResetUnderLoad(t *testing.T) {
	r := newRig(t, RigOpts{Conn: fast()})
	for _, on := range []chaos.Direction{chaos.Requests, chaos.Replies} {
		r.Proxy.Arm(chaos.Fault{
			Do: chaos.Reset, On: on, At: chaos.AtChance(0.001), Times: -1,
		})
	}
	load := r.Load(16, long(5000, 1000))
	load.Window = 32
	resets := func() int { return r.Proxy.Stats().Faults[chaos.Reset] }
	begin := time.Now()
	for resets() < 6 || r.Ledger.Report.Outcomes(oracle.Unknown) == 0 {
		load.Run(context.Background())
	}
	took := time.Since(begin)
	r.Proxy.Heal()
	report, precision := judge(t, r)
	t.Logf("%d resets, %.0f requests/s", resets(), float64(report.Requests())/took.Seconds())
	require.GreaterOrEqual(t, precision.Share(), 0.99)
}

// exchange sends a few requests as one batch, and waits until all are resolved.
func exchange(t *testing.T, r *Rig) {
	var wg sync.WaitGroup
	done := func(res any, id uint64) {
		r.Ledger.Resolve(res, id)
		wg.Done()
	}
	var reqs []redis.Request
	var ids []uint64
	req, id := r.Log.Issue("log")
	reqs, ids = append(reqs, req), append(ids, id)
	id = r.Ledger.IssueTagged(oracle.IsBulk)
	reqs, ids = append(reqs, redis.Req("ECHO", r.Ledger.Tag(id))), append(ids, id)
	req, id = r.Log.Issue("log")
	reqs, ids = append(reqs, req), append(ids, id)
	wg.Add(len(reqs))
	for i, req := range reqs {
		r.Conn.Send(req, redis.FuncFuture(done), ids[i])
	}
	finished := make(chan struct{})
	go func() { wg.Wait(); close(finished) }()
	select {
	case <-finished:
	case <-time.After(patience):
		t.Fatalf("seed %d: not resolved: %v", seed, r.Ledger.Finish(0))
	}
}

// T5: the connection is cut at every byte of an exchange, in both directions.
func TestT5CutAtEveryByte(t *testing.T) {
	beside(t)
	for _, tt := range []struct {
		name string
		do   chaos.Action
		on   chaos.Direction
	}{
		{"cut requests", chaos.Cut, chaos.Requests},
		{"cut replies", chaos.Cut, chaos.Replies},
		{"reset requests", chaos.Reset, chaos.Requests},
		{"reset replies", chaos.Reset, chaos.Replies},
		{"half-close requests", chaos.HalfClose, chaos.Requests},
		{"half-close replies", chaos.HalfClose, chaos.Replies},
	} {
		t.Run(tt.name, func(t *testing.T) {
			drill.Rotate(t)
			beside(t)
			opts := fast()
			opts.AsyncDial = true // so that the handshake is cut, too
			r := newRig(t, RigOpts{Conn: opts})
			at, beyond := int64(0), 0
			for ; beyond < 3 || at <= 100; at += int64(long(1, 3)) {
				// The old connection may still be dialing. Then the proxy counts that dial as well.
				r.Conn.Close()
				require.Eventually(t, func() bool { return r.Proxy.Stats().Open == 0 }, patience, 100*time.Microsecond)
				conn := r.Proxy.Stats().Accepted + 1
				fault := r.Proxy.Arm(chaos.Fault{Do: tt.do, On: tt.on, At: chaos.AtByte(at), Conn: conn})
				require.NoError(t, r.Connect(opts))
				for range 3 { // they are queued while connecting, or sent on the next connection
					exchange(t, r)
				}
				fault.Disarm()
				if beyond++; fault.Fired() > 0 {
					beyond = 0
				} // otherwise the stream ends before the cut
			}
			report, _ := judge(t, r)
			require.Positive(t, report.Outcomes(oracle.Unknown))
			t.Logf("%d places", at)
		})
	}
}

// T6: the client notices a black hole, whether the connection is busy or idle.
func TestT6BlackHole(t *testing.T) {
	beside(t)
	r := newRig(t, RigOpts{Conn: blackHoleOpts()})
	for _, busy := range []bool{false, true} {
		for _, dirs := range [][]chaos.Direction{
			{chaos.Requests}, {chaos.Replies}, {chaos.Requests, chaos.Replies},
		} {
			t.Logf("busy %v, %v", busy, dirs)
			noticesBlackHole(t, r, busy, func() {
				for _, on := range dirs {
					r.Proxy.Arm(chaos.Fault{Do: chaos.Swallow, On: on, At: chaos.Now(), Times: -1})
				}
			}, r.Proxy.Heal)
		}
	}
	judge(t, r)
}

func blackHoleOpts() redisconn.Opts {
	opts := fast()
	opts.IOTimeout, opts.DialTimeout = 400*time.Millisecond, 400*time.Millisecond
	return opts
}

// noticesBlackHole requires that the rig's connection, under load or idle, breaks soon after open
// was called, and works again after mend was called.
func noticesBlackHole(t *testing.T, r *Rig, busy bool, open, mend func()) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	var wg sync.WaitGroup
	load := r.Load(8, 0)
	load.Window, load.Pause = 8, time.Millisecond
	if busy {
		before := r.Ledger.Issued()
		wg.Go(func() { load.Run(ctx) })
		require.Eventually(t, func() bool { return r.Ledger.Issued() > before+1000 }, patience, time.Millisecond)
	}
	begin := time.Now()
	open()
	require.Eventually(t, func() bool { return !r.Conn.ConnectedNow() }, patience, time.Millisecond)
	t.Logf("noticed after %v", time.Since(begin))
	mend()
	_, err := r.WaitConnected(patience)
	require.NoError(t, err)
	stop()
	wg.Wait()
	require.Eventually(t, func() bool { return r.Ledger.Open() == 0 }, patience, time.Millisecond)
}
