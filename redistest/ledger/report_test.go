package ledger

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReportsAddUp(t *testing.T) {
	var sum, one Report
	for range 7 {
		one.Violate(Mixed, "example")
	}
	one.outcome(Value)
	sum.Add(&one)
	sum.Add(&one)
	require.EqualValues(t, 14, sum.Count(Mixed))
	require.EqualValues(t, 2, sum.Requests())
	require.Contains(t, sum.String(), "mixed: 14")
}
