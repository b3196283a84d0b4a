package drill

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEachTestHasItsTurnInBothModes(t *testing.T) {
	for _, name := range []string{"TestRollingRestart", "TestNeverStale", "TestT24PopsUnderFaults"} {
		days := [turns]int{}
		for day := 1; day <= 21; day++ {
			days[turn(name, day)]++
		}
		require.NotContains(t, days, 0, name)
	}
}
