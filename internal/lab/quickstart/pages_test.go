package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// This is make run CACHE=1, shortened.
func TestRunCache(t *testing.T) {
	require.NoError(t, runCache(testContext(t), 200*time.Millisecond))
}
