package torture

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/lab/drill"
	"github.com/joomcode/redispipe/internal/lab/oracle"
)

// T22: a soak of a few seconds. TORTURE_DURATION or cmd/torture make it longer.
func TestT22Soak(t *testing.T) {
	drill.Rotate(t)
	totals := soakFor(t, SoakOpts{
		Duration: time.Duration(long(12, 4)) * time.Second,
		Round:    time.Duration(long(2000, 1000)) * time.Millisecond, FaultEvery: 200 * time.Millisecond,
	})
	staysFlat(t, totals)
	require.Positive(t, totals.Report.Outcomes(oracle.Unknown))
}

// T22 on a cluster: a round in which no acknowledged write may be missing, and one with killed
// masters.
func TestT22SoakCluster(t *testing.T) {
	drill.Rotate(t)
	beside(t)
	totals := soakFor(t, SoakOpts{
		Cluster: true, Duration: time.Duration(long(8, 6)) * time.Second,
		Round: time.Duration(long(4, 3)) * time.Second, FaultEvery: 200 * time.Millisecond,
	})
	if drill.InFull { // otherwise other tests have goroutines at the same time
		staysFlat(t, totals)
	}
	require.Less(t, totals.Lossy, totals.Rounds)
	require.NotEmpty(t, totals.Faults)
}

func soakFor(t *testing.T, o SoakOpts) *Totals {
	t.Helper()
	o.Seed, o.Logf = seed, t.Logf
	if d, err := time.ParseDuration(os.Getenv("TORTURE_DURATION")); err == nil {
		o.Duration, o.Round, o.FaultEvery = d, 0, 0
	}
	totals, err := Soak(context.Background(), o)
	require.NoError(t, err, "seed %d", seed)
	t.Logf("\n%v", totals)
	passes(t, &totals.Report)
	require.Positive(t, totals.Report.Outcomes(oracle.Value))
	return totals
}

// staysFlat requires that the process has no more memory, goroutines and files at the end of a soak
// than in its middle.
func staysFlat(t *testing.T, totals *Totals) {
	t.Helper()
	first, last := totals.Samples[len(totals.Samples)/2], totals.Samples[len(totals.Samples)-1]
	idle := 3 * soakPoppers // goroutines of the proxy, for connections that pops have left idle
	require.LessOrEqual(t, last.Goroutines, first.Goroutines+idle+5)
	require.Less(t, last.HeapInuse, first.HeapInuse+32<<20)
}
