package redisfailover

import (
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/redis"
)

const (
	// windowTicks is how many ticks there are in Opts.Patience.
	windowTicks = 8
	// probeTicks is the number of ticks from one probe to the next.
	probeTicks = 2
	// leastFailed is how many requests or probes must have failed since the last success for a member to
	// be down.
	leastFailed = 2
	// leastEnded is how many requests must have ended in half of Opts.Patience for the share of failures
	// to count.
	leastEnded = 10
	// leastProbes is how many probes in a row must succeed for a member to be up again.
	leastProbes = 3
)

// health judges a member by the numbers of requests that succeeded and failed. It does not read the
// clock.
type health struct {
	last   count             // the totals at the last tick
	window [windowTicks]tick // the last ticks
	n      int               // ticks so far
	goodAt time.Time         // the last tick with a success
	badAt  time.Time         // the last tick with a failure; zero if nothing has failed
	failed uint64            // failures since goodAt
}

// count is how many requests and probes have ended.
type count struct{ good, bad uint64 }

// tick counts the requests and probes that ended in one tick. If it is not exact, only a sample of the successes was
// counted.
type tick struct {
	count
	exact bool
}

// tick adds the requests and probes that have ended since the last tick. now holds the totals. If the tick is
// late, this process was held up and may have caused the failures, so they do not count.
func (h *health) tick(at time.Time, now count, late bool) {
	ended := count{now.good - h.last.good, now.bad - h.last.bad}
	h.last = now
	h.window[h.n%windowTicks] = tick{ended, h.isFailing()}
	h.n++
	if ended.bad > 0 {
		h.badAt = at
	}
	if ended.good > 0 || h.goodAt.IsZero() || late {
		h.goodAt, h.failed = at, 0
		return
	}
	h.failed += ended.bad
}

// isDown reports whether the member is down. at is the time of the last tick.
func (h *health) isDown(at time.Time, patience time.Duration, rate float64) bool {
	return h.isDead(at, patience) || h.failing(0, rate) && h.failing(windowTicks/2, rate)
}

// isDead reports whether nothing has succeeded for as long as patience. at is the time of the last tick.
func (h *health) isDead(at time.Time, patience time.Duration) bool {
	return h.failed >= leastFailed && at.Sub(h.goodAt) >= patience
}

// isSound reports whether nothing has failed for as long as quiet. at is the time of the last tick.
func (h *health) isSound(at time.Time, quiet time.Duration) bool {
	return h.badAt.IsZero() || at.Sub(h.badAt) >= quiet
}

// isFailing reports whether anything has failed in the window. If so, the next tick must be exact.
func (h *health) isFailing() bool {
	for _, part := range h.window {
		if part.bad > 0 {
			return true
		}
	}
	return false
}

// failing reports whether too many requests have failed in half of the window. from is the index at which this
// half begins. If a tick of this half is not exact, failing returns false.
func (h *health) failing(from int, rate float64) bool {
	var ended count
	for i := from; i < from+windowTicks/2; i++ {
		part := h.window[(h.n+i)%windowTicks]
		if !part.exact {
			return false
		}
		ended.good, ended.bad = ended.good+part.good, ended.bad+part.bad
	}
	total := ended.good + ended.bad
	return total >= leastEnded && float64(ended.bad) >= rate*float64(total)
}

// sign is what the result of a request shows about its member.
type sign uint8

const (
	signGood sign = iota
	signBad
	signNone // the result shows nothing about the member: the caller or the request itself is the reason
)

// signOf returns what a result shows about the member that it came from.
func signOf(res any) sign {
	err, failed := res.(error)
	if !failed || err == redis.ScanEOF {
		return signGood
	}
	typed := redis.AsErrorx(err)
	switch redis.OutcomeOf(typed) {
	case redis.OutcomeValue:
		return signGood
	case redis.OutcomeRefused:
		if typed.HasTrait(redis.ErrTraitTransient) && !typed.IsOfType(redis.ErrUnblocked) {
			return signBad
		}
		return signGood
	}
	if isOwn(typed) {
		return signNone
	}
	return signBad
}

// isOwn reports whether the request itself, or its caller, is the reason why it got no answer.
func isOwn(err *errorx.Error) bool {
	return redis.ErrRequest.IsNamespaceOf(err.Type()) || redis.ErrOpts.IsNamespaceOf(err.Type()) ||
		err.IsOfType(redis.ErrQueueFull)
}
