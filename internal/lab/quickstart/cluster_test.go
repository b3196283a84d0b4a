package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/testbed"
)

// The whole of make run CLUSTER=1, shortened: it fails when moving slots costs
// a caller a request.
func TestRunCluster(t *testing.T) {
	if testing.Short() {
		t.Skip("it breaks a cluster for seconds, as internal/lab/torture does")
	}
	// Before 7.0, a master that handed over holds back writes for some 10 s, and
	// goes on to do so when it takes over again in the meantime.
	testbed.Needs(t, testbed.Version(7, 0))
	// A healthy server answers later than IOTimeout if the machine does not run for some time.
	require.NoError(t, runCluster(testContext(t), 300*time.Millisecond, redisconn.Opts{IOTimeout: time.Minute}))
}
