package memory

import (
	"math/bits"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// Shards share no line of the processor's caches: a store, which is large, begins with one.
func TestShardsShareNoLine(t *testing.T) {
	t.Parallel()
	if bits.UintSize < 64 {
		t.Skip("a shard is smaller")
	}
	const line = 64
	require.EqualValues(t, 2*line, unsafe.Sizeof(shard{}))
	require.EqualValues(t, line, unsafe.Offsetof(shard{}.newest))
}
