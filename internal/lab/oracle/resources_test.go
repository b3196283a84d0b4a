package oracle

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// A goroutine that is about to end does not count as left, even if it has not ended by the deadline
// because the process did not run.
func TestLeftLetsGoroutinesEnd(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	before := RunningGoroutines()
	release := make(chan struct{})
	go func() { <-release }()
	require.Len(t, before.Left(0), 1)
	close(release)
	require.Empty(t, before.Left(0))
}
