package queue

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A connection keeps no more than its bound, whether of buffers or of items, gives back what
// it has kept, and keeps nothing when it is idle.
func TestQueueKeepsLittle(t *testing.T) {
	q := newTestQueue(1, 1)
	s := &q.spares
	s.putBuffer(&Batch{Buf: make([]byte, 0, sparesMost+1)})
	s.put(&Batch{Items: make([]Item, 0, sparesMost/64)})
	require.Empty(t, s.buffers)
	require.Empty(t, s.batches)
	require.Zero(t, s.bytes)

	const size = sparesMost / 8
	for range 20 {
		q.recycle(&Batch{Buf: make([]byte, 0, size), plain: true, Items: make([]Item, 0, 10)})
	}
	require.Len(t, s.buffers, 7, "and the items")
	require.Len(t, s.batches, 20)
	require.LessOrEqual(t, s.bytes, sparesMost)

	for range 20 {
		b := s.batch()
		require.Empty(t, b.Buf)
		require.Equal(t, 10, cap(b.Items))
	}
	require.Zero(t, s.bytes, "all of it is used again")
	s.put(&Batch{})
	require.Empty(t, s.buffers, "it was freed before")

	q.seq = 2
	q.Trim()
	require.Len(t, s.batches, 1)
	q.seq++
	q.Trim()
	require.Empty(t, s.batches, "an idle connection keeps nothing")
	require.Empty(t, s.buffers)
	require.Zero(t, s.bytes)
}
