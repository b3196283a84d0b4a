package wire

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A buffer comes back empty, and a large one does not stay.
func TestBuffers(t *testing.T) {
	for _, size := range []int{1, bufferKept, bufferKept + 1} {
		buf := GetBuffer()
		*buf = append(*buf, make([]byte, size)...)
		PutBuffer(buf)
		got := GetBuffer()
		require.Empty(t, *got, size)
		require.LessOrEqual(t, cap(*got), 2*bufferKept, size)
	}
}
