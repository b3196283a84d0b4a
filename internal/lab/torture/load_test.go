package torture

import (
	"bytes"
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/lab/drill"
	"github.com/joomcode/redispipe/internal/lab/oracle"
	"github.com/joomcode/redispipe/redis"
)

// T1: ten thousand goroutines on one connection.
func TestT1ManyGoroutines(t *testing.T) {
	drill.Rotate(t)
	r := newRig(t, RigOpts{Conn: untimed()})
	require.LessOrEqual(t, len(oracle.Goroutines{}.Left(0, "redispipe/redisconn.")), 4, "goroutines of a connection")
	load := r.Load(long(10_000, 2000), 10)
	load.MaxValue, load.Timeout = 64<<10, 2*patience
	watch := oracle.WatchResources(100*time.Millisecond, false)
	load.Run(context.Background())
	peak := uint64(0)
	for _, s := range watch.Stop() {
		peak = max(peak, s.HeapInuse)
	}
	report, _ := judge(t, r)
	require.Equal(t, report.Requests(), report.Outcomes(oracle.Value), "nothing breaks, so nothing fails")
	require.Less(t, peak, uint64(2<<30))
	t.Logf("peak of the heap: %d MiB", peak>>20)
}

// T20: a value of 64 MiB is written and read while a thousand callers use small values.
func TestT20HugeValueBesideSmallOnes(t *testing.T) {
	if testing.Short() {
		t.Skip("it measures memory, of which the race detector takes more than the library")
	}
	const size = 64 << 20
	r := newRig(t, RigOpts{Conn: untimed()})
	require.NoError(t, redis.AsError(r.Server.Do("SETRANGE", "huge", size-1, "x")))
	ctx, stop := context.WithCancel(context.Background())
	load := r.Load(1000, 0)
	load.Timeout, load.Pause = 2*patience, 20*time.Millisecond
	var wg sync.WaitGroup
	wg.Go(func() { load.Run(ctx) })
	require.Eventually(t, func() bool { return r.Ledger.Issued() > 2000 }, patience, time.Millisecond)

	// Only live memory counts, not the garbage of the callers.
	base := oracle.TakeSample(true)
	watch := oracle.WatchResources(5*time.Millisecond, true)
	res := redis.SyncCtx{S: r.Conn}.Do(runFor(t, 2*patience), "GET", "huge")
	peak := uint64(0)
	for _, s := range watch.Stop() {
		peak = max(peak, s.HeapInuse)
	}
	value, ok := res.([]byte)
	require.True(t, ok, "%v", redis.AsError(res))
	require.Len(t, value, size)
	require.True(t, bytes.HasSuffix(value, []byte("\x00x")))
	stop()
	wg.Wait()
	report, _ := judge(t, r)
	require.Equal(t, report.Requests(), report.Outcomes(oracle.Value))
	grown := int64(peak) - int64(base.HeapInuse)
	t.Logf("heap grew by %d MiB", grown>>20)
	// The memory is twice the value, plus garbage that is not yet collected, plus the ledger of the
	// other callers. It must not be enough for a third copy.
	require.Less(t, grown, int64(2*size+48<<20))
}
