package timing

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTimes(t *testing.T) {
	require.Equal(t, 8*time.Second, Times(time.Second, 8))
	require.Equal(t, time.Duration(math.MaxInt64), Times(math.MaxInt64, 2))
	require.Equal(t, time.Duration(math.MaxInt64), Times(math.MaxInt64/2+1, 2))
	require.Equal(t, time.Duration(-8), Times(-1, 8))
}

func TestPlus(t *testing.T) {
	require.Equal(t, 9*time.Second, Plus(time.Second, 8*time.Second))
	require.Equal(t, time.Duration(math.MaxInt64), Plus(math.MaxInt64, 1))
	require.Equal(t, time.Duration(math.MaxInt64), Plus(math.MaxInt64/2+1, math.MaxInt64/2+1))
}
