package redisconn

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func (q *queue) oldestOf(s *session) *batch {
	b, _ := q.oldestBatch(s)
	return b
}

func TestInFlightInOrder(t *testing.T) {
	q := newTestQueue(100, 1000)
	s := &session{}
	q.state, q.session = stateConnected, s
	var batches []*batch
	for range 3 {
		q.put(1, nil)
		b, _ := q.take()
		batches = append(batches, b)
		require.False(t, q.wrote(b))
	}
	require.Nil(t, q.oldestOf(&session{}), "of another session")
	require.Same(t, batches[0], q.oldestOf(s))
	require.Same(t, batches[1], q.retire(batches[0]))
	require.Same(t, batches[2], q.retire(batches[1]))
	require.Nil(t, q.retire(batches[2]))
	require.Nil(t, q.oldestOf(s))
	require.Zero(t, q.pending)
	require.Zero(t, q.bytes)
}
