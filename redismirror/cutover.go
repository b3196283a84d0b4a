package redismirror

import (
	"context"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/slot"
	"github.com/joomcode/redispipe/redis"
)

// CutOver lets the new database decide for a share of the keys, from 0 to 1, and the old database for the
// others. The slot of a key determines at which share the new database begins to decide for it. So a larger
// share only adds keys, and a smaller one only moves keys back. The database that does not decide for a
// key still gets the writes of the key.
//
// New writes of the keys that move wait until earlier ones have ended on both databases, so that both have
// the same state, and no acknowledged write is lost. If ctx is done before that, CutOver returns its error;
// if a key that is to move may be different, it returns an [ErrDifferent]. In both cases nothing moves. If
// share is out of range, the error is an [ErrShare]. A retry is safe.
func (m *Mirror) CutOver(ctx context.Context, share float64) error {
	switch {
	case ctx == nil:
		return redis.Err(errs.NilContext())
	case m.ended() != nil:
		return redis.Err(m.ended())
	case !(share >= 0 && share <= 1): // NaN as well
		return redis.Err(ErrShare.New("a share must be from 0 to 1, not %v: nothing was moved", share))
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	m.moving.Lock()
	defer m.moving.Unlock()
	to, from := int(slot.Count*min(max(share, 0), 1)), int(m.moved.Load())
	var slots []int
	for s := range slot.Count {
		if r := slot.Rank(s); (r < to) != (r < from) {
			slots = append(slots, s)
		}
	}
	if len(slots) == 0 {
		return nil
	}
	return redis.Err(m.quietly(ctx, slots, func(context.Context) error {
		if err := m.findings.among(slots); err != nil {
			return err
		}
		for _, s := range slots {
			m.gates.of[s].moved.Store(to > from)
		}
		m.gates.of[slot.Count].moved.Store(to == slot.Count)
		m.moved.Store(int32(to))
		return nil
	}))
}

// among returns an error if a key of the slots may be different.
func (f *findings) among(slots []int) error {
	moves := map[int]bool{}
	for _, s := range slots {
		moves[s] = true
	}
	keys, unlisted := f.keys()
	n := 0
	for _, key := range keys {
		if moves[int(slot.Of(key))] {
			n++
		}
	}
	switch {
	case unlisted > 0:
		return ErrDifferent.New("%d findings are not listed: call Copy", unlisted)
	case n > 0:
		return ErrDifferent.New("%d keys may be different: call Repair", n)
	}
	return nil
}

// quietly calls f while no write of the slots, and no write without keys, is in flight on either database.
// m.moving must be held.
func (m *Mirror) quietly(ctx context.Context, slots []int, f func(context.Context) error) error {
	if err := m.ended(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(m.ctx, cancel)()
	slots = append(slots, slot.Count)
	defer m.gates.openAll(slots, m.sendHeld)
	if err := m.gates.closeAll(ctx, slots); err != nil {
		return err
	}
	return f(ctx)
}
