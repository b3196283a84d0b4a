package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/lab/drill"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/testbed"
)

// This is make run CLUSTER=1, shortened. It fails if a request fails because a slot moves.
func TestRunCluster(t *testing.T) {
	if !drill.InFull {
		t.Skip("it breaks a cluster for seconds, as internal/lab/torture does")
	}
	// Before 7.0, a master that has handed over refuses writes for some 10 s, even if it becomes
	// the master again before that.
	testbed.Needs(t, testbed.Version(7, 0))
	// A healthy server answers later than IOTimeout if the machine does not run for some time.
	require.NoError(t, runCluster(testContext(t), 300*time.Millisecond, redisconn.Opts{IOTimeout: time.Minute}))
}
