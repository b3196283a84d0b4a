package redisfailover

import (
	"sync/atomic"
	"time"

	"github.com/joomcode/redispipe/internal/backend"
	"github.com/joomcode/redispipe/internal/slot"
	"github.com/joomcode/redispipe/redis"
)

// ramp is a gradual return to the preferred member. The preferred member's term begins with the ramp,
// and the slots move to it one after the other. The earlier term stays the active one until the ramp
// ends. Client.judge moves the slots.
type ramp struct {
	to    *term
	began time.Time
	moved atomic.Int32 // how many slots have moved, in the order of slot.Rank
}

// of returns the term of the member that gets requests for a slot: t or, if the slot has moved, the term to
// which the ramp leads. For requests without a slot, or with several, it returns t.
func (t *term) of(s int) *term {
	if b := t.back.Load(); b != nil && s >= 0 && slot.Rank(s) < int(b.moved.Load()) {
		return b.to
	}
	return t
}

// ofKeys returns the term of the member that gets requests for the keys.
func (t *term) ofKeys(keys []string) *term {
	if t.back.Load() == nil || len(keys) == 0 {
		return t
	}
	of := t.of(int(slot.Of(keys[0])))
	for _, key := range keys[1:] {
		if t.of(int(slot.Of(key))) != of {
			return t
		}
	}
	return of
}

// ofRequests returns the term of the member that gets the requests together.
func (t *term) ofRequests(reqs ...redis.Request) *term {
	if t.back.Load() == nil {
		return t
	}
	var of *term
	for _, req := range reqs {
		s, keys := backend.SlotOf(req)
		if !keys {
			continue
		}
		if to := t.of(s); of == nil || of == to {
			of = to
			continue
		}
		return t
	}
	if of == nil {
		return t
	}
	return of
}

// ofFirst returns the term of the member that gets the first request, and how many requests in a row go to
// the same member.
func (t *term) ofFirst(reqs []redis.Request) (of *term, n int) {
	if t.back.Load() == nil {
		return t, len(reqs)
	}
	of = t.ofRequests(reqs[0])
	for n = 1; n < len(reqs) && t.ofRequests(reqs[n]) == of; n++ {
	}
	return of, n
}

// share returns the share of the slots that have moved.
func (r *ramp) share() float64 { return float64(r.moved.Load()) / slot.Count }

// beginRamp begins to move keys from the active member. Client.mu is held.
func (c *Client) beginRamp(now time.Time, active *term) LogEvent {
	c.shifted = now
	active.back.Store(&ramp{to: c.begin(c.preferred), began: now})
	return LogReturn{From: active.member.name, To: c.preferred.name}
}

// ramped moves more keys. It ends the ramp if all have moved, or if one of the members is down. Client.mu is held.
func (c *Client) ramped(now time.Time, active *term) LogEvent {
	b := active.back.Load()
	done := float64(now.Sub(b.began)) / float64(c.opts.Ramp)
	switch {
	case !b.to.member.up:
		return c.endRamp(now, active, b.to.member.lastFailure())
	case done >= 1 || !active.member.up:
		return c.shift(b.to, Restored)
	}
	b.moved.Store(int32(slot.Count * done))
	return nil
}

// endRamp ends a ramp: all keys belong to the active member. Client.mu is held.
func (c *Client) endRamp(now time.Time, active *term, err error) LogEvent {
	to := active.back.Swap(nil).to
	to.end()
	c.shifted = now
	return LogReturn{From: active.member.name, To: to.member.name, Ended: true, Error: err}
}
