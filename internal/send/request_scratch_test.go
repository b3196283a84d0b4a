package send_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/send"
)

// The buffer of a reused Scratch is empty. A Scratch with a large buffer is not reused.
func TestScratch(t *testing.T) {
	for _, size := range []int{1, send.BufferKept, send.BufferKept + 1} {
		s := send.GetScratch()
		s.Buf = append(s.Buf, make([]byte, size)...)
		send.PutScratch(s)
		got := send.GetScratch()
		require.Empty(t, got.Buf, size)
		require.LessOrEqual(t, cap(got.Buf), 2*send.BufferKept, size)
	}
}

// The requests of Batch are zero, no matter how the Scratch was used before. A Scratch with a large
// batch is not reused.
func TestScratchBatch(t *testing.T) {
	for _, n := range []int{3, send.BatchKept, 1, send.BatchKept + 1, 2} {
		s := send.GetScratch()
		batch := s.Batch(n)
		require.Len(t, batch, n)
		require.LessOrEqual(t, cap(batch), max(n, send.BatchKept))
		for i, r := range batch {
			require.Equal(t, send.Request{}, *r, i)
			*r = send.Request{Cmd: "GET", Slot: i, Ticket: send.Ticket{Seq: 1}}
		}
		for i, r := range batch {
			require.Equal(t, i, r.Slot, "each its own")
		}
		send.PutScratch(s)
	}
}
