package drill

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEachTestHasItsTurnInBothModes(t *testing.T) {
	for _, name := range []string{"TestRollingRestart", "TestNeverStale", "TestT24PopsUnderFaults"} {
		turns := map[bool]int{}
		for day := 1; day <= 14; day++ {
			turns[raced(name, day)]++
		}
		require.NotZero(t, turns[true], name)
		require.NotZero(t, turns[false], name)
	}
}
