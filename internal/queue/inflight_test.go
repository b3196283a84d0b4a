package queue

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func (q *Queue) oldestOf(s *Session) *Batch {
	b, _ := q.Answering(s)
	return b
}

func TestInFlightInOrder(t *testing.T) {
	q := newTestQueue(100, 1000)
	s := testSession()
	q.state, q.session = Connected, s
	var batches []*Batch
	for range 3 {
		q.put(1, nil)
		b, _ := q.Take()
		batches = append(batches, b)
		require.False(t, q.Wrote(b))
	}
	require.Nil(t, q.oldestOf(testSession()), "of another session")
	require.Same(t, batches[0], q.oldestOf(s))
	require.Same(t, batches[1], q.Retire(batches[0], true))
	require.Same(t, batches[2], q.Retire(batches[1], true))
	require.Nil(t, q.Retire(batches[2], true))
	require.Nil(t, q.oldestOf(s))
	require.Zero(t, q.pending)
	require.Zero(t, q.bytes)
}
