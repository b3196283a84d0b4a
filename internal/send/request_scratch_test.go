package send

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A buffer comes back empty, and a large one does not stay.
func TestScratch(t *testing.T) {
	for _, size := range []int{1, BufferKept, BufferKept + 1} {
		s := GetScratch()
		s.Buf = append(s.Buf, make([]byte, size)...)
		PutScratch(s)
		got := GetScratch()
		require.Empty(t, got.Buf, size)
		require.LessOrEqual(t, cap(got.Buf), 2*BufferKept, size)
	}
}

// A batch is zero whatever its room was used for, and a large one does not stay.
func TestScratchBatch(t *testing.T) {
	for _, n := range []int{3, BatchKept, 1, BatchKept + 1, 2} {
		s := GetScratch()
		batch := s.Batch(n)
		require.Len(t, batch, n)
		require.LessOrEqual(t, cap(s.batch), max(n, BatchKept))
		for i, r := range batch {
			require.Equal(t, Request{}, *r, i)
			*r = Request{Cmd: "GET", Slot: i, Ticket: Ticket{Seq: 1}}
		}
		for i, r := range batch {
			require.Equal(t, i, r.Slot, "each its own")
		}
		PutScratch(s)
	}
}
