package torture

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/testbed"
)

// durations collects durations. It is safe for concurrent use.
type durations struct {
	mu  sync.Mutex // guards all
	all []time.Duration
}

func (d *durations) add(took time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.all = append(d.all, took)
}

// report reports quantiles and the longest duration.
func (d *durations) report(b *testing.B, of string) {
	slices.Sort(d.all)
	for name, q := range map[string]float64{"p50": 0.5, "p99": 0.99, "max": 1} {
		at := min(int(q*float64(len(d.all))), len(d.all)-1)
		b.ReportMetric(float64(d.all[at])/float64(time.Microsecond), name+"-µs-"+of)
	}
}

// benchRig returns a connection to a server, without a proxy.
func benchRig(b *testing.B) (*Witnesses, *testbed.Server, *redisconn.Connection) {
	server := testbed.NewServer(b)
	conn, err := redisconn.Connect(context.Background(), server.Addr(), redisconn.Opts{Logger: redisconn.NoopLogger{}})
	require.NoError(b, err)
	b.Cleanup(conn.Close)
	w := &Witnesses{seed: seed}
	w.NewLedger(b.Name())
	return w, server, conn
}

// synchronous returns a load of callers that wait for each reply.
func (w *Witnesses) synchronous(conn *redisconn.Connection, callers int, took func(time.Duration)) *Load {
	load := w.load(conn, callers, 0)
	load.Timeout, load.Took = time.Minute, took
	return load
}

// BenchmarkBesideBlocked measures the latency of callers on the shared connection, first without
// and then with a hundred others that block in BLPOP.
func BenchmarkBesideBlocked(b *testing.B) {
	const blocking, callers = 100, 16
	w, server, conn := benchRig(b)
	var alone, beside durations
	measure := func(into *durations) {
		ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
		defer cancel()
		w.synchronous(conn, callers, into.add).Run(ctx)
	}
	for b.Loop() {
		measure(&alone)
		ctx, cancel := context.WithCancel(context.Background())
		var wg sync.WaitGroup
		for i := range blocking {
			wg.Go(func() { redis.SyncCtx{S: conn}.Do(ctx, "BLPOP", fmt.Sprint("idle:", i), 0) })
		}
		require.Eventually(b, func() bool {
			info, _ := server.Do("INFO", "clients").([]byte)
			return strings.Contains(string(info), fmt.Sprintf("blocked_clients:%d\r", blocking))
		}, 10*time.Second, time.Millisecond)
		measure(&beside)
		cancel()
		wg.Wait()
	}
	alone.report(b, "alone")
	beside.report(b, "beside")
	require.False(b, w.Ledger.Finish(time.Second).Failed())
}

// BenchmarkCancelledPop measures the time from the end of a context until the BLPOP with that
// context returns, on an idle connection and on a busy one.
func BenchmarkCancelledPop(b *testing.B) {
	for _, callers := range []int{0, 16, 128} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			w, _, conn := benchRig(b)
			stop := background(w.synchronous(conn, callers, nil))
			defer stop()
			var took durations
			for b.Loop() {
				ctx, cancel := context.WithCancel(context.Background())
				var ended time.Time
				time.AfterFunc(time.Millisecond, func() { // usually it blocks by then
					ended = time.Now()
					cancel()
				})
				res := redis.SyncCtx{S: conn}.Do(ctx, "BLPOP", "nothing", 0)
				took.add(time.Since(ended))
				require.True(b, redis.CausedBy(redis.AsError(res), context.Canceled))
			}
			took.report(b, "after-its-end")
		})
	}
}
