package engine

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/send"
)

// enterFirst enters a request of caller c into a queue in which nobody has a right. The request is
// in flight, but not written.
func enterFirst(t *testing.T, c *modelCaller) (q *queue, s *Session, seq uint64) {
	t.Helper()
	q, s = newTestQueue(100, 1000), testSession()
	s.mayPass, s.mayExchange = true, true
	q.state, q.session, q.reading = Connected, s, readNobody
	r := &send.Request{Buf: []byte("first"), Caller: c}
	_, _, entered := q.enterAlone(r, c, 0)
	require.True(t, entered)
	require.NotNil(t, s.first.Load())
	return q, s, r.Ticket.Seq
}

// withhold takes back the batch that nobody has begun to write, and the open batch, in this order.
func TestWithholdTakesBackFirstAndOpen(t *testing.T) {
	q, s, _ := enterFirst(t, &modelCaller{})
	require.True(t, s.both)
	_, ok := q.put(3, nil)
	require.True(t, ok)
	left, writes := q.withhold()
	require.Same(t, s, writes)
	require.EqualValues(t, "first", left.buf)
	require.NotNil(t, left.next, "the open batch is behind it")
	require.Len(t, left.next.buf, 3)
	require.Nil(t, left.next.next)
	require.Nil(t, s.takeFirst())
	require.Nil(t, q.head)
	require.Nil(t, q.tail)
	require.Zero(t, q.pending)
	require.Zero(t, q.bytes)
	require.Zero(t, q.stats.Writes)
	b, _ := q.take(true)
	require.Nil(t, b)
}
