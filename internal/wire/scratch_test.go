package wire

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A buffer comes back empty, and a large one does not stay.
func TestScratch(t *testing.T) {
	for _, size := range []int{1, bufferKept, bufferKept + 1} {
		s := GetScratch()
		s.Buf = append(s.Buf, make([]byte, size)...)
		PutScratch(s)
		got := GetScratch()
		require.Empty(t, got.Buf, size)
		require.LessOrEqual(t, cap(got.Buf), 2*bufferKept, size)
	}
}
