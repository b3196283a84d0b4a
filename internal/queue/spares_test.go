package queue

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestQueueKeepsLittle(t *testing.T) {
	q := newTestQueue(1, 1)
	for range 2 * batchesKept {
		q.spares.putBuffer(&Batch{Buf: make([]byte, 0, batchKeptBuffer+1)})
		q.recycle(&Batch{Items: make([]Item, 0, batchKeptItems+1)})
	}
	require.Empty(t, q.spares.batches)
	require.Empty(t, q.spares.buffers)
	for range 2 * batchesKept {
		q.spares.putBuffer(&Batch{Buf: make([]byte, 0, batchKeptBuffer)})
		q.spares.put(&Batch{})
	}
	require.Len(t, q.spares.batches, batchesKept)
	require.Len(t, q.spares.buffers, buffersKept)
	q.spares.buffers = nil
	q.spares.put(&Batch{})
	require.Empty(t, q.spares.buffers, "it was freed before")
	for range 2 * smallBuffers {
		q.recycle(&Batch{Buf: make([]byte, 0, smallBuffer), plain: true})
	}
	require.Len(t, q.spares.buffers, smallBuffers)
	q.seq = 2
	q.Trim()
	require.Len(t, q.spares.batches, batchesKept)
	q.seq++
	q.Trim()
	require.Empty(t, q.spares.batches, "an idle connection keeps nothing")
	require.Empty(t, q.spares.buffers)
}
