package engine

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/internal/timing"
	"github.com/joomcode/redispipe/redis"
)

// A reader may be held up until its session has failed and the next session has begun. What it has
// read then answers no request of the next session.
func TestReaderIsHeldBeyondItsSession(t *testing.T) {
	p := testPipe()
	held, goOn := make(chan struct{}), make(chan struct{})
	p.opts.ReqStat = func(*timing.Stat, any, int, int) {
		close(held)
		<-goOn
	}
	enter := func(stat func(*send.Request) *timing.Stat) <-chan any {
		p.opts.Stat = stat
		res := make(chan any, 1)
		fut := redis.FuncFuture(func(r any, _ uint64) { res <- r })
		refused := p.Enter(encoded("*1\r\n$4\r\nPING\r\n"), &Entry{Future: fut})
		require.Nil(t, refused)
		return res
	}
	s, there := pipeSession(t, p)
	first := enter(func(*send.Request) *timing.Stat { return &timing.Stat{} })
	enter(nil)
	_, err := there.Write([]byte("+first\r\n+second\r\n"))
	require.NoError(t, err)
	<-held
	s.fail(redis.ErrIO.New("on purpose"))
	p.Abandon(s, redis.ErrIO.New("unsent"))

	_, next := pipeSession(t, p)
	third := enter(nil)
	_, err = next.Read(make([]byte, 64))
	require.NoError(t, err)
	close(goOn)
	require.Equal(t, "first", <-first)
	_, err = next.Write([]byte("+third\r\n"))
	require.NoError(t, err)
	require.Equal(t, "third", <-third)
}

// touched is a caller that counts how often it is touched.
type touched struct {
	send.Caller
	times int
}

func (c *touched) Touch() int {
	c.times++
	return c.times
}

func TestTouch(t *testing.T) {
	callers := []*touched{{}, {}}
	b := &batch{items: []item{{caller: callers[0]}, {}, {caller: callers[1]}}}
	for i := 1; i < 6; i++ {
		touch(b, i)
	}
	require.Zero(t, callers[0].times)
	require.Equal(t, 1, callers[1].times)
}
