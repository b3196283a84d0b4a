package send_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/send"
)

// asked is a future with all methods that a sender may look for.
type asked struct {
	ctx    context.Context
	gone   error
	ticket send.Ticket
	place  send.Server
	right  send.ReadRight
}

func (a *asked) Resolve(any, uint64)       {}
func (a *asked) Cancelled() error          { return a.gone }
func (a *asked) Context() context.Context  { return a.ctx }
func (a *asked) Queued(t send.Ticket)      { a.ticket = t }
func (a *asked) Observes() bool            { return true }
func (a *asked) AnsweredBy(at send.Server) { a.place = at }
func (a *asked) Caller() send.Caller       { return a }
func (a *asked) Listen() bool              { return true }
func (a *asked) Waits() bool               { return true }
func (a *asked) Touch() int                { return 0 }
func (a *asked) GiveRead(r send.ReadRight) bool {
	a.right = r
	return true
}

// A future that embeds Forward answers each question of a sender like the other future.
func TestPassed(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	to := &asked{ctx: ctx, gone: errors.New("gone")}
	p := send.Forward{To: to}
	require.Equal(t, to.gone, p.Cancelled())
	require.Equal(t, ctx, send.ContextOf(p))
	require.True(t, send.Observes(p))
	send.Queued(p, send.Ticket{Seq: 7})
	send.AnsweredBy(p, send.Server{Address: "there"})
	require.True(t, send.CallerOf(p).GiveRead(send.ReadRight{Last: 9}))
	require.Equal(t, uint64(7), to.ticket.Seq)
	require.Equal(t, "there", to.place.Address)
	require.Equal(t, uint64(9), to.right.Last)
}

// A Forward to nil has no waiting caller.
func TestPassedToNobody(t *testing.T) {
	var p send.Forward
	require.NoError(t, p.Cancelled())
	require.Nil(t, send.ContextOf(p).Done())
	require.Nil(t, send.CallerOf(p))
	require.False(t, send.Observes(p))
	send.Queued(p, send.Ticket{})
	send.AnsweredBy(p, send.Server{})
}

// A user's future may have its own method Context, which returns nil.
func TestContextOfNone(t *testing.T) {
	require.Equal(t, context.Background(), send.ContextOf(&asked{}))
	require.Equal(t, context.Background(), send.ContextOf(send.Forward{To: &asked{}}))
}
