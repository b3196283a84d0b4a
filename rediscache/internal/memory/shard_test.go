package memory

import (
	"math/bits"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// Shards share no line of the processor's caches. A store is so large that the allocator aligns it with a
// line, so it is enough that the size of a shard is a multiple of a line.
func TestShardsShareNoLine(t *testing.T) {
	t.Parallel()
	if bits.UintSize < 64 {
		t.Skip("a shard is smaller")
	}
	const line = 64
	require.EqualValues(t, 2*line, unsafe.Sizeof(shard{}))
	require.EqualValues(t, line, unsafe.Offsetof(shard{}.newest))
}
