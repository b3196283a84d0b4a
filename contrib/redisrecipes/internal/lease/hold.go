package lease

import (
	"context"
	"errors"
	"sync/atomic"
	"time"
)

// ErrLost is the cause with which a context ends if its lease may have ended.
var ErrLost = errors.New("redisrecipes: the lease may have ended")

// Hold renews a lease, and ends a context before the lease may end. The lease ends no earlier than its TTL after the last
// acknowledged request for it was sent, because the server got that request later.
type Hold struct {
	// life ends with the hold; its cause is ErrLost or the argument of End. ctx ends with life or with the
	// parent context.
	life, ctx   context.Context
	kill, leave context.CancelCauseFunc // kill ends life, and leave ends ctx
	ttl         time.Duration
	renew       func(context.Context) (bool, error)
	start       time.Time    // with the monotonic clock
	until       atomic.Int64 // time after start, in nanoseconds, until which the lease is certain
}

// NewHold returns a hold of a lease. sent is the time when the request that acquired the lease was sent. A goroutine renews the lease until End is called, or until renewing has failed for too long. The
// caller must call End.
func NewHold(parent context.Context, ttl time.Duration, sent time.Time, renew func(context.Context) (bool, error)) *Hold {
	h := &Hold{ttl: ttl, renew: renew, start: sent}
	h.until.Store(int64(certain(ttl)))
	h.life, h.kill = context.WithCancelCause(context.WithoutCancel(parent))
	h.ctx, h.leave = context.WithCancelCause(parent)
	go h.run()
	return h
}

// certain returns how long a holder may rely on a lease, counted from when its request was sent. It is less
// than ttl, because clocks may differ in speed, and because a clock reading is a little old when it is used.
func certain(ttl time.Duration) time.Duration { return ttl - ttl/100 - 2*time.Millisecond }

// Context returns the context of the hold.
func (h *Hold) Context() context.Context { return holdContext{h.ctx, h} }

// End ends the hold and its context, and reports whether the lease was certainly held until then. A
// later call reports the same as the first.
func (h *Hold) End(cause error) bool {
	h.certain()
	h.end(cause)
	return context.Cause(h.life) != ErrLost
}

func (h *Hold) end(cause error) {
	h.kill(cause)
	h.leave(cause)
}

// certain reports whether the holder may still rely on the lease. If not, it ends the hold. It reads the clock,
// because timers are late in a process that was stopped.
func (h *Hold) certain() bool {
	if time.Since(h.start) >= time.Duration(h.until.Load()) {
		h.end(ErrLost)
	}
	return h.life.Err() == nil
}

// run renews the lease after each third of its TTL, and more often while that fails.
func (h *Hold) run() {
	for pause := h.ttl/3 - time.Since(h.start); ; { // counted from start, because the grant may have arrived late
		left := time.Duration(h.until.Load()) - time.Since(h.start)
		if !Sleep(h.life, min(pause, left)) || !h.certain() {
			return
		}
		pause = h.ttl / 3
		sent := time.Since(h.start)
		ctx, cancel := context.WithTimeout(h.life, min(h.ttl/3, time.Duration(h.until.Load())-sent))
		ours, err := h.renew(ctx)
		cancel()
		switch {
		case err != nil:
			pause = h.ttl / 20
		case !ours:
			h.end(ErrLost)
		default:
			h.until.Store(int64(sent + certain(h.ttl)))
		}
	}
}

// holdContext is the context of a hold. Its Err reads the clock, so it does not depend on timers.
type holdContext struct {
	context.Context
	hold *Hold
}

// Err implements context.Context.
func (c holdContext) Err() error {
	c.hold.certain()
	return c.Context.Err()
}
