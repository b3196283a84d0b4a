package oracle

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// A goroutine that can end is not left, though it has not come to that before the
// deadline, as in a process that was stalled.
func TestLeftLetsGoroutinesEnd(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	before := RunningGoroutines()
	release := make(chan struct{})
	go func() { <-release }()
	require.Len(t, before.Left(0), 1)
	close(release)
	require.Empty(t, before.Left(0))
}
