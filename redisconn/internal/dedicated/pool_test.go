package dedicated

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/sock"
	"github.com/joomcode/redispipe/redis"
)

func entered(t *testing.T, p *Pool) turn {
	t.Helper()
	turn, refused := p.enter(1)
	require.Nil(t, refused)
	return turn
}

// granted returns the connection that turn was granted at once.
func granted(t *testing.T, turn turn) *Conn {
	t.Helper()
	require.Nil(t, turn.waiting)
	return turn.conn
}

func requireClosed(t *testing.T, ch <-chan struct{}, closed bool) {
	t.Helper()
	select {
	case <-ch:
		require.True(t, closed)
	default:
		require.False(t, closed)
	}
}

// Places are granted first come, first served. A waiting caller may leave.
func TestPoolPlaces(t *testing.T) {
	p := New(t.Context(), nil, nil, Config{Most: 2, Queue: 2, MaxBytes: 2})
	for range 2 {
		granted(t, entered(t, p))
	}
	first, second := entered(t, p), entered(t, p)
	_, refused := p.enter(1)
	require.True(t, refused.IsOfType(redis.ErrQueueFull))
	require.Equal(t, "all 2 dedicated connections (Opts.DedicatedConns) are in use, and 2 requests wait for one (Opts.MaxRequests)", refused.Message())
	places, waiting := p.Left()
	require.Equal(t, []int{2, 2}, []int{places, waiting})

	gone, cancel := context.WithCancel(t.Context())
	cancel()
	_, refused = p.await(gone, first)
	require.True(t, refused.IsOfType(redis.ErrRequestWithdrawn))
	require.ErrorIs(t, redis.Err(refused), context.Canceled)
	require.Equal(t, "all 2 dedicated connections (Opts.DedicatedConns) are in use: withdrawn before it was sent", refused.Message())
	p.users.End()
	p.release(nil, false)
	require.Empty(t, first.granted)
	_, refused = p.await(t.Context(), second)
	require.Nil(t, refused)
	places, waiting = p.Left()
	require.Equal(t, []int{2, 0}, []int{places, waiting})
}

// MaxBytes bounds the size of the requests of waiting users.
func TestPoolBytes(t *testing.T) {
	p := New(t.Context(), nil, nil, Config{Most: 1, Queue: 100, MaxBytes: 10})
	_, refused := p.enter(11)
	require.True(t, refused.IsOfType(redis.ErrRequestTooLarge))
	require.Equal(t, "11 bytes are more than Opts.MaxBytes allows: 10", refused.Message())
	granted(t, entered(t, p))
	first, refused := p.enter(6)
	require.Nil(t, refused)
	gone, refused := p.enter(4)
	require.Nil(t, refused)
	requireFull := func() {
		t.Helper()
		_, refused := p.enter(1)
		require.True(t, refused.IsOfType(redis.ErrQueueFull))
		require.Equal(t, "all 1 dedicated connections (Opts.DedicatedConns) are in use, 10 bytes wait for one, and Opts.MaxBytes is 10", refused.Message())
	}
	requireFull()
	session, refused := p.enter(0)
	require.Nil(t, refused)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, refused = p.await(ctx, gone)
	require.True(t, refused.IsOfType(redis.ErrRequestWithdrawn))
	p.users.End()
	_, refused = p.enter(4)
	require.Nil(t, refused)
	requireFull()
	p.release(nil, false)
	_, refused = p.await(t.Context(), first)
	require.Nil(t, refused)
	_, refused = p.enter(6)
	require.Nil(t, refused)
	requireFull()
	places, waiting := p.Left()
	require.Equal(t, []int{1, 3}, []int{places, waiting})
	require.Empty(t, session.granted)
}

// The connection that was used last is granted first.
func TestPoolIdle(t *testing.T) {
	p := New(t.Context(), nil, nil, Config{Most: 4, MaxBytes: 1})
	conns := []*Conn{{}, {}, {}}
	for range conns {
		entered(t, p)
	}
	for i, c := range conns {
		require.Equal(t, i+1, p.made(c))
	}
	for _, c := range conns {
		p.release(c, true)
	}
	require.Equal(t, [2]int{3, 3}, [2]int{p.Stats().Open, p.Stats().Idle})
	require.Same(t, conns[2], granted(t, entered(t, p)))
	require.Same(t, conns[1], p.nextIdle())
	require.Same(t, conns[0], p.nextIdle())
	require.Nil(t, p.nextIdle())
	require.Nil(t, granted(t, entered(t, p)))
	require.Equal(t, [2]int{3, 0}, [2]int{p.Stats().Open, p.Stats().Idle})
	p.sweeper.Stop()
}

// A pool that is shut refuses all waiting users. It is drained when no command blocks and all
// places are given back.
func TestPoolShut(t *testing.T) {
	p := New(t.Context(), nil, nil, Config{Most: 1, Queue: 1, MaxBytes: 1})
	entered(t, p)
	waits := entered(t, p)
	require.True(t, p.blocking.Begin())
	calm := p.Shut()
	_, refused := p.await(t.Context(), waits)
	require.True(t, refused.IsOfType(redis.ErrContextClosed))
	_, closed := p.enter(1)
	require.True(t, closed.IsOfType(redis.ErrContextClosed))
	_, alive := (&blocking{p: p, ctx: t.Context()}).perform(nil)
	require.True(t, alive, "nothing was sent")
	requireClosed(t, calm, false)
	p.blocking.End()
	requireClosed(t, calm, true)
	p.release(nil, false)
	requireClosed(t, p.Drained(), false)
	p.users.End()
	requireClosed(t, p.Drained(), true)
}

// Only an answer other than a redirect extends the time for which ASKING is sent.
func TestAskingIsAccepted(t *testing.T) {
	asked := time.Now()
	later := asked.Add(time.Millisecond)
	for want, results := range map[time.Time][]any{
		asked: {sock.Closed(t.Context()), redis.ErrIO.New("lost"), redis.ErrMoved.New("MOVED")},
		later: {int64(1), nil, redis.ErrTryAgain.New("TRYAGAIN")},
	} {
		for _, res := range results {
			s := &Session{asked: asked}
			s.accepted(later, res)
			require.Equal(t, want, s.asked, "%v", res)
		}
	}
}
