package command

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestHostileCountsGiveNoKey(t *testing.T) {
	for _, count := range []any{
		nil, "", "-1", -1, int64(math.MinInt64), "0", 0, "+1", " 1", "1 ", "01", "x", "3", 3, "9999999999",
		"18446744073709551617", uint64(math.MaxUint64), uintptr(1 << 31), math.NaN(), math.Inf(1), 1.5, math.Copysign(0, -1), false,
		[]byte("1\x00"), []int{1}, struct{}{}, (*int)(nil),
	} {
		for _, cmd := range []string{"EVAL", "ZUNIONSTORE", "BLMPOP"} {
			call := Of(cmd, args("x", count, "a", "b"))
			assert.Equal(t, NoKey, call.FirstKey(), "%s %v", cmd, count)
			assert.Empty(t, slices.Collect(call.Keys), "%s %v", cmd, count)
		}
	}
}
