package torture

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/lab/drill"
	"github.com/joomcode/redispipe/testbed"
)

// T29: all messages that a subscriber misses are in gaps, no matter how the network or the server
// fails. The test takes a few seconds; TORTURE_DURATION or cmd/torture make it longer.
func TestT29PubSub(t *testing.T) {
	beside(t)
	pubSubFor(t, SoakOpts{
		Duration: time.Duration(long(4, 2)) * time.Second, Round: time.Duration(long(2, 1)) * time.Second,
		FaultEvery: 50 * time.Millisecond,
	})
}

// T29 on a cluster, whose masters fail over and whose slots move.
func TestT29PubSubCluster(t *testing.T) {
	drill.Rotate(t)
	beside(t)
	testbed.Needs(t, testbed.Version(7, 0))
	pubSubFor(t, SoakOpts{
		Cluster: true, Duration: time.Duration(long(8, 6)) * time.Second,
		Round: time.Duration(long(4, 3)) * time.Second, FaultEvery: 100 * time.Millisecond,
	})
}

func pubSubFor(t *testing.T, o SoakOpts) {
	t.Helper()
	o.Seed, o.Logf = seed, t.Logf
	if d, err := time.ParseDuration(os.Getenv("TORTURE_DURATION")); err == nil {
		o.Duration, o.Round, o.FaultEvery = d, 0, 0
	}
	totals, err := PubSub(context.Background(), o)
	require.NoError(t, err, "seed %d", seed)
	t.Logf("\n%v", totals)
	require.Positive(t, totals.Numbers)
	require.NotEmpty(t, totals.Gaps)
}
