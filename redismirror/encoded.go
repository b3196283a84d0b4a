package redismirror

import (
	"bytes"
	"context"

	"github.com/joomcode/redispipe/internal/backend"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/internal/slot"
	"github.com/joomcode/redispipe/redis"
)

// encoded sends the requests of a Mirror in the form in which package redis encodes them. A Mirror has one if both its
// senders are of this library and have no hooks.
type encoded struct {
	m  *Mirror
	to [2]send.Backend[redis.Future] // the backends of Mirror.sides
}

var _ send.Backend[redis.Future] = (*encoded)(nil)

// newEncoded returns nil if one of the sides has no backend.
func newEncoded(m *Mirror) *encoded {
	e := &encoded{m: m}
	for i, s := range m.sides {
		if e.to[i] = send.BackendOf[redis.Future](backend.Unretried(s)); e.to[i] == nil {
			return nil
		}
	}
	return e
}

// SendEncoded implements send.Backend. A read that is not compared goes to one database, as it is.
func (e *encoded) SendEncoded(r *send.Request, cb redis.Future, n uint64) {
	m, compared := e.m, e.m.draws()
	if r.ReadOnly && r.Slot != send.ManySlots && !compared && m.ctx.Err() == nil {
		s := r.Slot
		if s == send.NoSlot {
			s = slot.Count
		}
		e.pass(m.gates.side(s), r, cb, n)
		return
	}
	o := m.operation(cb, n, false, compared)
	o.keep(r)
	m.send(o, []redis.Request{{Cmd: r.Cmd, Args: r.Args()}}, r)
}

// keep keeps a copy of an encoded request, which belongs to the caller.
func (o *mirrored) keep(r *send.Request) {
	o.reqs, o.bytes = []send.Request{{
		Cmd: r.Cmd, Buf: bytes.Clone(r.Buf), Shared: r.Shared, Blocks: r.Blocks,
		ReplicaSafe: r.ReplicaSafe, ReadOnly: r.ReadOnly, Slot: r.Slot, Plain: true,
	}}, len(r.Buf)
}

// pass sends a request to one database.
func (e *encoded) pass(side int, r *send.Request, cb redis.Future, n uint64) {
	to := e.to[side]
	if !to.WantsSlot() {
		r.Slot = send.NoSlot
	}
	to.SendEncoded(r, cb, n)
}

// WantsSlot implements send.Backend: the slot decides which database answers.
func (e *encoded) WantsSlot() bool { return true }

// OpenDedicated implements send.Backend.
func (e *encoded) OpenDedicated(context.Context, []string, error) (send.Dedicated, error) {
	return nil, redis.ErrSession.New("a %T has no sessions: %s", e.m, sessionless{}.WhyNoSessions())
}
