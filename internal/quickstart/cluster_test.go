package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The whole of make run CLUSTER=1, shortened: it fails when moving slots costs
// a caller a request.
func TestRunCluster(t *testing.T) {
	require.NoError(t, runCluster(testContext(t), time.Second))
}
