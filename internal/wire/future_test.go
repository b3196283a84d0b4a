package wire_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/wire"
)

// asked is a future that is everything that a sender may ask for.
type asked struct {
	ctx    context.Context
	gone   error
	ticket wire.Ticket
	place  wire.Place
	right  wire.ReadRight
}

func (a *asked) Resolve(any, uint64)      {}
func (a *asked) Cancelled() error         { return a.gone }
func (a *asked) Context() context.Context { return a.ctx }
func (a *asked) Queued(t wire.Ticket)     { a.ticket = t }
func (a *asked) Observes() bool           { return true }
func (a *asked) AnsweredBy(at wire.Place) { a.place = at }
func (a *asked) Caller() wire.Caller      { return a }
func (a *asked) Listen() bool             { return true }
func (a *asked) Touch() int               { return 0 }
func (a *asked) GiveRead(r wire.ReadRight) bool {
	a.right = r
	return true
}

// Whatever is asked of a future that passes its result on, the other one answers.
func TestPassed(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	to := &asked{ctx: ctx, gone: errors.New("gone")}
	p := wire.Passed{To: to}
	require.Equal(t, to.gone, p.Cancelled())
	require.Equal(t, ctx, wire.ContextOf(p))
	require.True(t, wire.Observes(p))
	wire.Queued(p, wire.Ticket{Seq: 7})
	wire.AnsweredBy(p, wire.Place{Address: "there"})
	require.True(t, wire.CallerOf(p).GiveRead(wire.ReadRight{Last: 9}))
	require.Equal(t, uint64(7), to.ticket.Seq)
	require.Equal(t, "there", to.place.Address)
	require.Equal(t, uint64(9), to.right.Last)
}

// Without another one nobody waits.
func TestPassedToNobody(t *testing.T) {
	var p wire.Passed
	require.NoError(t, p.Cancelled())
	require.Nil(t, wire.ContextOf(p).Done())
	require.Nil(t, wire.CallerOf(p))
	require.False(t, wire.Observes(p))
	wire.Queued(p, wire.Ticket{})
	wire.AnsweredBy(p, wire.Place{})
}

// A user's future may have a method of the same name, which returns nil.
func TestContextOfNone(t *testing.T) {
	require.Equal(t, context.Background(), wire.ContextOf(&asked{}))
	require.Equal(t, context.Background(), wire.ContextOf(wire.Passed{To: &asked{}}))
}
