package queue

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The reader of a session that has failed gets nothing of the next one.
func TestRetireForAFailedSession(t *testing.T) {
	q := newTestQueue(10, 1000)
	q.state, q.session = Connected, testSession()
	q.put(10, nil)
	old, _ := q.Take()
	q.Wrote(old)
	q.Change(Disconnected, nil, nil)
	q.Abort()
	q.Change(Connected, testSession(), nil)
	q.put(10, nil)
	b, _ := q.Take()
	require.Nil(t, q.Retire(old, true))
	require.False(t, b.Begun())
	require.Equal(t, 1, q.pending)
}
