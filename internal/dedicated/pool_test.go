package dedicated

import (
	"testing"

	"github.com/joomcode/errorx"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
)

// wish is a borrower that keeps what it gets.
type wish struct {
	granted int
	c       *Conn
	refused chan *errorx.Error
}

func newWish() *wish { return &wish{refused: make(chan *errorx.Error, 1)} }

func (w *wish) grant(c *Conn)            { w.granted, w.c = w.granted+1, c }
func (w *wish) refuse(err *errorx.Error) { w.refused <- err }

func acquired(t *testing.T, p *Pool) (w *wish, leave func() bool) {
	t.Helper()
	w = newWish()
	leave, refused := p.acquire(w)
	require.Nil(t, refused)
	return w, leave
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

// Places are granted first come first served. A borrower that waits may leave.
func TestPoolPlaces(t *testing.T) {
	p := New(t.Context(), nil, nil, Config{Most: 2, Queue: 2})
	for range 2 {
		w, leave := acquired(t, p)
		require.Equal(t, 1, w.granted)
		require.False(t, leave(), "it does not wait")
	}
	first, leaveFirst := acquired(t, p)
	second, leaveSecond := acquired(t, p)
	_, refused := p.acquire(newWish())
	require.True(t, refused.IsOfType(redis.ErrQueueFull))
	require.Equal(t, "2 requests wait for a dedicated connection", refused.Message())
	granted, waiting := p.Left()
	require.Equal(t, []int{2, 2}, []int{granted, waiting})

	require.True(t, leaveFirst())
	require.False(t, leaveFirst())
	p.release(nil, false)
	require.Zero(t, first.granted)
	require.Equal(t, 1, second.granted)
	require.False(t, leaveSecond())
	granted, waiting = p.Left()
	require.Equal(t, []int{2, 0}, []int{granted, waiting})
}

// The connection that was used last is granted first.
func TestPoolIdle(t *testing.T) {
	p := New(t.Context(), nil, nil, Config{Most: 4})
	conns := []*Conn{{}, {}, {}}
	for range conns {
		acquired(t, p)
	}
	for i, c := range conns {
		require.Equal(t, i+1, p.made(c))
	}
	for _, c := range conns {
		p.release(c, true)
	}
	require.Equal(t, Stats{Open: 3, Idle: 3}, p.Stats())
	w, _ := acquired(t, p)
	require.Same(t, conns[2], w.c)
	require.Same(t, conns[1], p.nextIdle())
	require.Same(t, conns[0], p.nextIdle())
	require.Nil(t, p.nextIdle())
	w, _ = acquired(t, p)
	require.Nil(t, w.c)
	require.Equal(t, Stats{Open: 3}, p.Stats())
	p.sweeper.Stop()
}

// A pool that is shut refuses all that wait, and is drained when nothing blocks, and every
// place is given back.
func TestPoolShut(t *testing.T) {
	p := New(t.Context(), nil, nil, Config{Most: 1, Queue: 1})
	acquired(t, p)
	waits, _ := acquired(t, p)
	require.True(t, p.begin())
	calm := p.Shut()
	require.True(t, (<-waits.refused).IsOfType(redis.ErrContextClosed))
	require.Zero(t, waits.granted)
	_, refused := p.acquire(newWish())
	require.True(t, refused.IsOfType(redis.ErrContextClosed))
	require.False(t, p.begin())
	requireClosed(t, calm, false)
	p.end()
	requireClosed(t, calm, true)
	requireClosed(t, p.Drained(), false)
	p.release(nil, false)
	<-p.Drained()
}
