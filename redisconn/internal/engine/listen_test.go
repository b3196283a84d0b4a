package engine

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/send"
)

// listener is a caller that counts how often it is told to listen.
type listener struct {
	modelCaller
	told int
	done chan struct{}
}

func (c *listener) Listen() bool {
	if c.reads {
		return false
	}
	c.told++
	return true
}

func (q *queue) deaf(t *testing.T, deadline time.Time) (c *listener, d duty, ticket send.Ticket) {
	t.Helper()
	c = &listener{done: make(chan struct{})}
	r := send.Request{Buf: []byte("x"), Caller: c, Done: c.done, Deadline: deadline}
	_, d, refused := q.enter([]*send.Request{&r}, &Entry{Future: c})
	require.Nil(t, refused)
	return c, d & mustListen, r.Ticket
}

// longAgo and justNow are times at which a batch was opened.
const (
	longAgo = -time.Hour
	justNow = time.Hour // in the future, so that it is not long ago at the next call of listen
)

// Each caller that has waited for long is told to listen, once. The timer that calls listen runs
// until all callers have been told.
func TestSlowCallersAreTold(t *testing.T) {
	q := newTestQueue(100, 1000)
	slow, d, ticket := q.deaf(t, time.Time{})
	require.Equal(t, mustListen, d)
	require.True(t, ticket.Tells)
	flying, d, _ := q.deaf(t, time.Time{})
	require.Zero(t, d, "somebody calls listen already")
	b, _ := q.take(true)
	b.claimed.Store(1) // as if a goroutine were reading the rest of the reply to the first request
	late, d, _ := q.deaf(t, time.Time{})
	require.Zero(t, d)

	b.Opened, q.opened = justNow, justNow
	_, again := q.listen()
	require.True(t, again)
	require.Zero(t, slow.told+flying.told+late.told)
	b.Opened = longAgo
	_, again = q.listen()
	require.Equal(t, []int{1, 1, 0}, []int{slow.told, flying.told, late.told})
	require.True(t, again)
	q.opened = longAgo
	_, again = q.listen()
	require.Equal(t, []int{1, 1, 1}, []int{slow.told, flying.told, late.told})
	require.False(t, again)

	_, d, _ = q.deaf(t, time.Time{})
	require.Equal(t, mustListen, d)
}

// A caller is not deaf if its deadline may pass before it is told to listen, or if answers take
// long.
func TestNotTellsLater(t *testing.T) {
	q := newTestQueue(100, 1000)
	_, d, ticket := q.deaf(t, time.Now().Add(2*listenEvery))
	require.False(t, ticket.Tells)
	require.Zero(t, d)
	_, _, ticket = q.deaf(t, time.Now().Add(time.Minute))
	require.True(t, ticket.Tells)
	q.avgLatency = deafMost
	_, _, ticket = q.deaf(t, time.Time{})
	require.False(t, ticket.Tells)
}

// A caller with a near deadline is not deaf even if its batch was opened long ago and listen was
// not called since: the deadline is compared with the current time.
func TestNotTellsLaterInAnOldBatch(t *testing.T) {
	for _, others := range []bool{false, true} {
		q := newTestQueue(100, 1000)
		q.put(1, nil)
		q.opened, q.called = -time.Minute, -time.Minute
		if others {
			q.deaf(t, time.Time{})
		}
		_, _, ticket := q.deaf(t, time.Now().Add(2*listenEvery))
		require.False(t, ticket.Tells, "%v", others)
	}
}

// The next call of listen tells each caller whose context has ended, and no other caller. Each is
// told once.
func TestWhoseContextHasEndedIsTold(t *testing.T) {
	q := newTestQueue(100, 1000)
	var all []*listener
	for range 6 {
		c, _, _ := q.deaf(t, time.Time{})
		all = append(all, c)
		if len(all) == 3 {
			q.take(true)
		}
	}
	q.head.Opened, q.opened = justNow, justNow
	told := func() (of []int) {
		_, again := q.listen()
		require.True(t, again)
		for _, c := range all {
			of = append(of, c.told)
		}
		return of
	}
	require.Equal(t, []int{0, 0, 0, 0, 0, 0}, told())
	close(all[1].done)
	close(all[4].done)
	for range 2 {
		require.Equal(t, []int{0, 1, 0, 0, 1, 0}, told())
	}
	q.head.Opened, q.opened = longAgo, justNow
	require.Equal(t, []int{1, 1, 1, 0, 1, 0}, told())
}

// listen reaches all callers of a batch whose futures were being asked whether they are cancelled.
func TestListenWhileFuturesAreAsked(t *testing.T) {
	q := newTestQueue(100, 1000)
	c, _, _ := q.deaf(t, time.Time{})
	asked, answer := make(chan struct{}), make(chan struct{})
	q.put(1, askedFuture{asked, answer})
	taken := make(chan *batch)
	go func() {
		b, _ := q.take(true)
		taken <- b
	}()
	<-asked
	_, again := q.listen()
	require.True(t, again)
	close(answer)
	(<-taken).Opened = longAgo
	q.listen()
	require.Equal(t, 1, c.told)
}

type askedFuture struct{ asked, answer chan struct{} }

func (askedFuture) Resolve(any, uint64) {}
func (f askedFuture) Cancelled() error {
	close(f.asked)
	<-f.answer
	return context.Canceled
}

// The caller that has the right to read is told to listen through its session. The session forgets
// that when the caller passes on the right.
func TestListenOfWhoReads(t *testing.T) {
	q, s := newTestQueue(100, 1000), testSession()
	s.mayPass = true
	q.state, q.session, q.reading = Connected, s, readNobody
	c, _, _ := q.deaf(t, time.Time{})
	require.True(t, c.reads)
	q.opened = justNow
	q.listen()
	require.False(t, s.listens.Load())
	q.opened = longAgo
	reads, again := q.listen()
	require.True(t, reads)
	require.False(t, again)
	require.True(t, s.listens.Load())
	q.passRead(s, true, nil)
	require.False(t, s.listens.Load())
}
