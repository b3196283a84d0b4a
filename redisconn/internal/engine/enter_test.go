package engine

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/internal/timing"
	"github.com/joomcode/redispipe/redis"
)

// If the server does not answer, a request with a deadline is refused, even if nothing has read the
// clock since the last answer, and whether or not a batch is open.
func TestInTimeBehindAServerThatAnswersNothing(t *testing.T) {
	for _, open := range []bool{true, false} {
		q := newTestQueue(10, 1000)
		q.writing = true
		q.put(10, nil)
		q.take(true)
		if open {
			q.put(10, nil)
		}
		q.minTrip = time.Millisecond
		q.head.Taken = timing.Clock() - time.Minute
		q.opened, q.called = q.head.Taken, q.head.Taken
		_, _, refused := q.enter([]*send.Request{{Deadline: time.Now().Add(time.Second)}}, &Entry{})
		require.True(t, refused.IsOfType(redis.ErrOverloaded), "%v", open)
	}
}

// ticketed is a future that calls queued when it gets its ticket.
type ticketed struct {
	redis.Future
	queued func(send.Ticket)
}

func (f ticketed) Queued(t send.Ticket) { f.queued(t) }

// A future gets its ticket under the lock, so before anybody can read the reply.
func TestTicketComesBeforeTheReply(t *testing.T) {
	q := newTestQueue(10, 1000)
	var got send.Ticket
	fut := ticketed{queued: func(ticket send.Ticket) {
		require.False(t, q.mu.TryLock(), "the batch may be on its way")
		got = ticket
	}}
	reqs := requests(2)
	_, _, refused := q.enter(reqs, &Entry{Future: fut, Queuer: fut, Transaction: true})
	require.Nil(t, refused)
	require.NotNil(t, got.Queue)
	require.Equal(t, reqs[1].Ticket, got)
}

func TestSmooth(t *testing.T) {
	for _, c := range []struct{ concurrency, pending, want int }{
		{0, 0, 0},
		{0, 1, 1},
		{1, 0, 0},
		{8, 8, 8},
		{8, 1000, 1000}, // rises at once
		{1000, 8, 875},  // falls by an eighth
		{9, 0, 7},
		{16, 15, 15},
	} {
		require.Equal(t, c.want, smooth(c.concurrency, c.pending), "%+v", c)
	}
}

func TestSmoothForgetsABurst(t *testing.T) {
	concurrency, batches := 100_000, 0
	for ; worthYielding(concurrency, false, false); batches++ {
		require.Less(t, batches, 100, "a lone goroutine is still taken for many")
		concurrency = smooth(concurrency, 1)
	}
	require.Greater(t, batches, 10, "a burst of replies looks like idleness")
}
