package lifetime

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRunning(t *testing.T) {
	var idle, busy Running
	<-idle.Shut()
	require.False(t, idle.Begin())

	require.True(t, busy.Begin())
	require.True(t, busy.Begin())
	ended := busy.Shut()
	require.False(t, busy.Begin(), "it is shut")
	require.Equal(t, 2, busy.Calls())
	busy.End()
	select {
	case <-ended:
		t.Fatal("one is under way")
	case <-busy.Shut():
		t.Fatal("one is under way")
	default:
	}
	busy.End()
	<-ended
	<-busy.Shut()
	require.Zero(t, busy.Calls())
}
