package oracle

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// parked is a function whose goroutine waits until release is closed.
func parked(release chan struct{}) { <-release }

// A family contains the goroutines that its members started, at any depth, and no others.
func TestFamily(t *testing.T) {
	const about = "oracle.parked"
	release := make(chan struct{})
	ended := make(chan Family)
	for range 2 {
		go func() {
			f := NewFamily()
			go func() { go parked(release) }()
			<-release
			ended <- f
		}()
	}
	own := NewFamily()
	go parked(release)
	require.Eventually(t, func() bool { return len(own.Left(0, about)) == 1 }, time.Minute, time.Millisecond)
	other := NewFamily()
	require.Empty(t, other.Left(0, about))
	require.Len(t, own.Left(0, about), 1, "those that it has started do not leave with it")

	report := &Report{}
	own.Settle(report, 0, about)
	require.True(t, report.Failed())
	close(release)
	for range 2 {
		f := <-ended
		require.Empty(t, f.Left(10*time.Second, about))
	}
	require.Empty(t, own.Left(10*time.Second, about))
}
