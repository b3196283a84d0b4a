package rediscluster

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/rediscluster/internal/route"
)

// asksLeave is the future of a call. When it gets a result, it asks whether the call may leave, as its caller may do at
// that moment.
type asksLeave struct {
	m    *many
	left bool
}

func (a *asksLeave) Resolve(any, uint64) { a.left = a.left || a.m.Leave() }
func (a *asksLeave) Cancelled() error    { return nil }

// A caller must not leave before it has the result of the write: it would send the write again.
func TestSendManyDoesNotLeaveWrites(t *testing.T) {
	var rules route.Rules
	cb := &asksLeave{}
	m := &many{Forward: send.Forward{To: cb}, w: &routed{c: &Cluster{}}}
	cb.m = m
	p := &part{many: m, link: route.NewLink(rules.NewNode("node:1", false, "")), index: []int{0}, stays: true}
	p.open.Store(1)
	m.parts = []*part{p}
	p.Resolve("OK", 0)
	require.False(t, cb.left, "the write's result is not there yet")

	m.alone.Store(1) // a write that was sent again after an error
	m.Resolve("OK", 0)
	require.False(t, cb.left, "the write's result is not there yet")
	require.False(t, m.Leave(), "no read of the call waits any more")
}
