package torture

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/lab/drill"
	"github.com/joomcode/redispipe/internal/lab/oracle"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/testbed"
)

// T2: the server is frozen, and thousands of callers each have a deadline of 50 ms.
func TestT2FrozenServer(t *testing.T) {
	drill.Rotate(t)
	beside(t)
	const deadline, bound, callers = 50 * time.Millisecond, 1000, 2000
	opts := fast()
	opts.MaxRequests = bound
	r := newRig(t, RigOpts{Conn: opts})
	require.NoError(t, r.Server.Pause())

	var mu sync.Mutex
	var took []time.Duration
	var wg sync.WaitGroup
	stop := time.Now().Add(700 * time.Millisecond)
	for i := range callers {
		wg.Go(func() {
			for time.Now().Before(stop) {
				req, id := r.Log.Issue(fmt.Sprintf("log:%d", i))
				ctx, cancel := context.WithTimeout(context.Background(), deadline)
				begin := time.Now()
				res := redis.SyncCtx{S: r.Conn}.Send(ctx, req)
				d := time.Since(begin)
				cancel()
				r.Ledger.Resolve(res, id)
				mu.Lock()
				took = append(took, d)
				mu.Unlock()
				time.Sleep(2*deadline + time.Duration(i)*10*time.Microsecond)
			}
		})
	}
	wg.Wait()
	slices.Sort(took)
	p999 := took[len(took)*999/1000]
	t.Logf("%d calls, p50 %v, p99.9 %v, longest %v", len(took), took[len(took)/2], p999, took[len(took)-1])
	require.Positive(t, r.Ledger.Report.Outcomes(oracle.NotSent))

	overflow(t, r, 6*bound) // the connection may be lost in this time, and the queue fills again
	require.NoError(t, r.Server.Resume())
	recovery, err := r.WaitConnected(patience)
	require.NoError(t, err)
	t.Logf("recovered after %v", recovery)
	r.Load(100, 20).Run(context.Background())
	judge(t, r)
}

// overflow sends n requests without waiting. Those for which the queue has no room end at once, not
// sent.
func overflow(t *testing.T, r *Rig, n int) {
	refused := 0
	var mu sync.Mutex
	for i := range n {
		req, id := r.Log.Issue(fmt.Sprintf("overflow:%d", i%10))
		r.Conn.Send(req, redis.FuncFuture(func(res any, id uint64) {
			r.Ledger.Resolve(res, id)
			if e := redis.AsErrorx(res); e != nil && e.HasTrait(redis.ErrTraitNotSent) {
				mu.Lock()
				refused++
				mu.Unlock()
			}
		}), id)
	}
	mu.Lock()
	defer mu.Unlock()
	require.Greater(t, refused, n/2, "refused at once")
}

// T3: the server is killed and restarted, and loads its data.
func TestT3KilledServer(t *testing.T) {
	beside(t)
	config := []string{"key-load-delay 20"}
	// Before 7.0, a server that loads answers only every 2 MiB: in this test never.
	saysLoading, err := testbed.Has(testbed.Version(7, 0))
	require.NoError(t, err)
	if saysLoading {
		config = append(config, "loading-process-events-interval-bytes 1024")
	}
	r := newRig(t, RigOpts{Conn: fast(), ServerOpts: testbed.Options{Persist: true, Config: config}})
	ctx, stop := context.WithCancel(context.Background())
	load := r.Load(16, 0)
	load.Window, load.Pause = 4, paced
	var wg sync.WaitGroup
	wg.Go(func() { load.Run(ctx) })
	for range long(4, 2) {
		before := r.Ledger.Report.Outcomes(oracle.Value)
		require.Eventually(t, func() bool { return r.Ledger.Report.Outcomes(oracle.Value) > before+200 },
			patience, time.Millisecond)
		require.NoError(t, r.Server.Kill())
		require.Eventually(t, func() bool { return !r.Conn.ConnectedNow() }, patience, time.Millisecond)
		require.NoError(t, r.Server.Restart())
		recovery, err := r.WaitConnected(patience)
		require.NoError(t, err)
		t.Logf("recovered after %v", recovery)
	}
	stop()
	wg.Wait()
	judge(t, r)
}
