package queue

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
)

// A reply that comes before its request is written is none: the batch could still be taken
// back, and recycled while it is answered.
func TestNothingIsAnsweredBeforeItIsWritten(t *testing.T) {
	q, s, seq := enterFirst(t, &modelCaller{gone: true}) // so that the loop reads
	b, why := q.Answering(s)
	require.Nil(t, b)
	require.True(t, why.IsOfType(redis.ErrResponseUnexpected))
	require.True(t, q.Withdraw(seq))

	q, s, seq = enterFirst(t, &modelCaller{gone: true})
	b = s.TakeFirst()
	answered, _ := q.Answering(s)
	require.Same(t, b, answered)
	require.False(t, q.Withdraw(seq))
}

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
