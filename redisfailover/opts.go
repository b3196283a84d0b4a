package redisfailover

import (
	"cmp"
	"context"
	"time"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/redis"
)

// Opts are the options of [Open]. The zero value is fit for production. If a value is out of its bounds, Open
// returns a [redis.ErrOption].
type Opts struct {
	// Patience is how long the active member must fail before another one becomes active. The shift happens
	// up to a quarter of Patience later, or up to half of it if the member does not answer at all. A probe
	// must be answered within half of Patience. Choose at least ten times the time that a request takes. If
	// failovers within a member should not cause a shift, choose longer than such a failover takes. Default
	// 500 ms, at least 10 ms.
	Patience time.Duration
	// FailureRate is the share of failed requests at which a member is down: above 0, at most 1.
	// Default 0.5.
	FailureRate float64
	// Failback is the least time between two shifts, and the time for which the preferred member must
	// be up before it becomes active again. If nothing succeeds on the active member, the client shifts
	// earlier to a member on which nothing has failed for Failback. If Failback is negative, only SwitchTo
	// makes the preferred member active again, and the other rules use 10 s. Default 10 s.
	Failback time.Duration
	// Ramp is how long the return to the preferred member takes: its keys, chosen by their slots, move at
	// a steady rate, so that a member that has just started gets its load gradually. A request whose keys
	// have not all moved goes to the member that is still active, as do sessions without keys, iterators
	// and PUBLISH. If the preferred member fails during this time, all keys return at once. While keys
	// move, requests write to both members. Ramp must not be negative. Default 0: all requests move at once.
	Ramp time.Duration
	// Probe returns an error if a member is not healthy. It must send its requests through member, which
	// does not retry. It is called in a separate goroutine, with a context that ends after half of
	// Patience. Default: PING.
	Probe func(ctx context.Context, member redis.Sender) error
	// Hooks are called around each attempt of an operation, the first one outermost: see
	// [redis.WithHook]. No element may be nil.
	Hooks []redis.Hook
	// Retry sets how long requests wait for a member, and which requests are sent again: see
	// [redis.WithRetry]. With [redis.NoRetry] each request is sent once.
	Retry redis.RetryOpts
	// Logger gets the events. Default [DefaultLogger].
	Logger Logger
}

const (
	defaultPatience = 500 * time.Millisecond
	leastPatience   = 10 * time.Millisecond
	defaultFailback = 10 * time.Second
	defaultRate     = 0.5
)

// check returns an error if an option is out of its bounds.
func (o *Opts) check() error {
	switch {
	case o.Patience != 0 && o.Patience < leastPatience:
		return redis.ErrOption.New("Patience must be at least %v, or 0 for the default, not %v", leastPatience, o.Patience)
	case !(o.FailureRate >= 0 && o.FailureRate <= 1): // NaN as well
		return redis.ErrOption.New("FailureRate must be above 0 and at most 1, or 0 for the default, not %v", o.FailureRate)
	case o.Ramp < 0:
		return redis.ErrOption.New("Ramp must not be negative: %v", o.Ramp)
	}
	for i, hook := range o.Hooks {
		if errs.IsNil(hook) {
			return redis.ErrOption.New("Hooks[%d] is nil", i)
		}
	}
	return nil
}

func (o Opts) withDefaults() Opts {
	o.Patience = cmp.Or(o.Patience, defaultPatience)
	o.Failback = cmp.Or(o.Failback, defaultFailback)
	o.FailureRate = cmp.Or(o.FailureRate, defaultRate)
	if o.Probe == nil {
		o.Probe = ping
	}
	if o.Logger == nil {
		o.Logger = DefaultLogger{}
	}
	return o
}

// between is the least time between two shifts.
func (o *Opts) between() time.Duration {
	if o.Failback < 0 {
		return defaultFailback
	}
	return o.Failback
}

// ping is the default of Opts.Probe. It also succeeds if the server refuses PING to this user.
func ping(ctx context.Context, member redis.Sender) error {
	res := redis.SyncCtx{S: member}.Do(ctx, "PING")
	if signOf(res) == signGood {
		return nil
	}
	return redis.Err(res)
}
