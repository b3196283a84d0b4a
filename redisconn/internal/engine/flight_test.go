package engine

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
)

// Bytes that arrive before a batch is written do not answer it: the batch could still be taken
// back, and recycled during the answer.
func TestNothingIsAnsweredBeforeItIsWritten(t *testing.T) {
	q, s, seq := enterFirst(t, &modelCaller{gone: true}) // the caller has left, so the loop reads
	b, why := q.answering(s)
	require.Nil(t, b)
	require.True(t, why.IsOfType(redis.ErrResponseUnexpected))
	require.True(t, q.Withdraw(seq))

	q, s, seq = enterFirst(t, &modelCaller{gone: true})
	b = s.takeFirst()
	answered, _ := q.answering(s)
	require.Same(t, b, answered)
	require.False(t, q.Withdraw(seq))
}

// After a session has failed, its reader gets no batch of the next session.
func TestRetireForAFailedSession(t *testing.T) {
	q := newTestQueue(10, 1000)
	q.state, q.session = Connected, testSession()
	q.put(10, nil)
	old, _ := q.take(true)
	q.wrote(old)
	q.Change(Disconnected, nil, nil)
	q.abort()
	q.Change(Connected, testSession(), nil)
	q.put(10, nil)
	b, _ := q.take(true)
	require.Nil(t, q.retire(old, true))
	require.False(t, b.Begun())
	require.Equal(t, 1, q.pending)
}

func (q *queue) oldestOf(s *Session) *batch {
	b, _ := q.answering(s)
	return b
}

func TestInFlightInOrder(t *testing.T) {
	q := newTestQueue(100, 1000)
	s := testSession()
	q.state, q.session = Connected, s
	var batches []*batch
	for range 3 {
		q.put(1, nil)
		b, _ := q.take(true)
		batches = append(batches, b)
		require.False(t, q.wrote(b))
	}
	require.Nil(t, q.oldestOf(testSession()), "of another session")
	require.Same(t, batches[0], q.oldestOf(s))
	require.Same(t, batches[1], q.retire(batches[0], true))
	require.Same(t, batches[2], q.retire(batches[1], true))
	require.Nil(t, q.retire(batches[2], true))
	require.Nil(t, q.oldestOf(s))
	require.Zero(t, q.pending)
	require.Zero(t, q.bytes)
}

func TestBatchResetForgets(t *testing.T) {
	b := &batch{next: &batch{}, customFutures: true, written: true, answered: true}
	fill(b, "a", "BB")
	b.claimRest()
	items := b.items
	b.reset()
	require.Nil(t, items[0].future)
	require.Nil(t, items[1].future)
	require.Empty(t, b.items)
	require.Zero(t, b.claimed.Load())
	require.Nil(t, b.next)
	require.False(t, b.customFutures || b.written || b.answered)
}

// A connection keeps at most sparesMost bytes of buffers and batches for reuse, uses them again,
// and frees them when it is idle.
func TestQueueKeepsLittle(t *testing.T) {
	q := newTestQueue(1, 1)
	s := &q.spares
	s.putBuffer(&batch{buf: make([]byte, 0, sparesMost+1)})
	s.put(&batch{items: make([]item, 0, sparesMost/64)})
	require.Empty(t, s.buffers)
	require.Empty(t, s.batches)
	require.Zero(t, s.bytes)

	const size = sparesMost / 8
	for range 20 {
		q.recycle(&batch{buf: make([]byte, 0, size), plain: true, items: make([]item, 0, 10)})
	}
	require.Len(t, s.buffers, 7, "and the items")
	require.Len(t, s.batches, 20)
	require.LessOrEqual(t, s.bytes, sparesMost)

	for range 20 {
		b := s.batch()
		require.Empty(t, b.buf)
		require.Equal(t, 10, cap(b.items))
	}
	require.Zero(t, s.bytes, "all of it is used again")
	s.put(&batch{})
	require.Empty(t, s.buffers, "it was freed before")

	q.seq = 2
	q.trim()
	require.Len(t, s.batches, 1)
	q.seq++
	q.trim()
	require.Empty(t, s.batches, "an idle connection keeps nothing")
	require.Empty(t, s.buffers)
	require.Zero(t, s.bytes)
}

func TestMinTrip(t *testing.T) {
	require.Equal(t, time.Millisecond, leastInFlight(0, time.Millisecond))
	require.Equal(t, time.Microsecond, leastInFlight(time.Millisecond, time.Microsecond), "downwards at once")
	slow := time.Millisecond
	for range 64 {
		slow = leastInFlight(slow, time.Second)
	}
	require.Greater(t, slow, 2*time.Millisecond, "upwards")
	require.Less(t, slow, 4*time.Millisecond, "slowly")
}

// The buffer of a large request is used again as soon as the request is written, also if only one
// batch is in use.
func TestLargeBuffersAreUsedAgain(t *testing.T) {
	q := newTestQueue(100, 1_000_000)
	var first *byte
	for range 5 {
		q.state, q.session, q.reading, q.writing = Connected, testSession(), readLoop, true
		_, ok := q.put(5*smallMost, nil)
		require.True(t, ok)
		b, _ := q.take(true)
		if first == nil {
			first = &b.buf[0]
		}
		require.Same(t, first, &b.buf[0])
		q.wrote(b)
		q.mu.Lock()
		require.False(t, q.retireLocked(b))
		q.mu.Unlock()
	}
}

// The size of requests is measured together with their replies, also when a new session counts from
// zero again.
func TestRequestBytes(t *testing.T) {
	q := newTestQueue(100, 1_000_000)
	answer := func(s *Session, size, replies int) {
		q.state, q.session, q.reading = Connected, s, readLoop
		_, ok := q.put(size, nil)
		require.True(t, ok)
		b, _ := q.take(true)
		require.Len(t, b.items, 1)
		s.Socket.Receive = func(p []byte) (int, error) { return len(p), nil }
		_, _ = s.Socket.Read(make([]byte, replies))
		q.measure(b)
		q.head, q.tail, q.writing, q.pending = nil, nil, false, 0
	}
	first, second := testSession(), testSession()
	for range 50 {
		answer(first, 100, 900)
	}
	require.InDelta(t, 1000, q.requestBytes, 8)
	require.True(t, q.light())
	q.concurrency = 2 * lightMost / 1000
	require.False(t, q.light())
	q.requestBytes = 0
	answer(second, 100, 300)
	require.Equal(t, 400/8, q.requestBytes)
	answer(second, 100, 64<<20)
	require.Less(t, q.requestBytes, enoughBytes/4, "one large reply")
	q.Shares(func() int64 { return 1 })
	require.False(t, q.light(), "the callers send to several servers")
}
