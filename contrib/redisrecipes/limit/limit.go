// Package limit limits rates for all processes that share a Redis: it bounds the requests of each
// user, address or API key.
//
//	limiter, err := limit.New(client, limit.Opts{Rate: limit.Rate{Count: 100, Per: time.Minute}})
//	…
//	d, err := limiter.Allow(ctx, "user:1")
//
// Each decision is one script call, which reads the clock of the server. The guide is
// docs/recipes.md.
package limit

import (
	"context"
	"time"

	"github.com/joomcode/redispipe/redis"
)

// Limiter decides which requests pass. It has no goroutines and is safe for concurrent use.
type Limiter struct {
	db     redis.SyncCtx // sends the bodies of scripts that the server lacks
	opts   Opts
	script *redis.Script
	local  *local // only for OnUnavailable: Local
}

// New returns a limiter. It returns an [ErrOpts] if the options are invalid.
func New(db redis.Sender, opts Opts) (*Limiter, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	script := smooth
	if opts.Kind == Window {
		script = window
	}
	l := &Limiter{db: redis.SyncCtx{S: redis.WithScripts(db, script)}, opts: opts, script: script}
	if opts.OnUnavailable == Local {
		l.local = newLocal(opts.Rate, opts.Processes)
	}
	return l, nil
}

// Take asks for N requests of a key at once. It is all or nothing: N requests pass, or none.
type Take struct {
	Key string
	N   int // from 0, which takes nothing and only reports the state, to the burst
}

// Decision says whether a request passes.
type Decision struct {
	Allowed bool
	// Remaining is the number of requests that would pass now.
	Remaining int
	// RetryAfter is the time after which the same take passes if nobody else takes before. It is
	// zero if the take is allowed.
	RetryAfter time.Duration
	// ResetAfter is the time after which the whole burst passes if nobody takes before.
	ResetAfter time.Duration
	// Unavailable is nil if the server has decided. Otherwise it is the reason why
	// [Opts.OnUnavailable] decided. The server may have counted the take.
	Unavailable error
}

// Allow takes one request of a key: see [Limiter.AllowEach].
func (l *Limiter) Allow(ctx context.Context, key string) (Decision, error) {
	return l.AllowN(ctx, key, 1)
}

// AllowN takes n requests of a key: see [Limiter.AllowEach].
func (l *Limiter) AllowN(ctx context.Context, key string, n int) (Decision, error) {
	takes := [1]Take{{key, n}}
	decisions, err := l.AllowEach(ctx, takes[:]...)
	if err != nil {
		return Decision{}, err
	}
	return decisions[0], nil
}

// AllowEach decides about several takes, which it sends in one batch: each passes or is refused,
// independently of the others. It returns the decisions in order.
//
// It waits at most [Opts.Timeout] for the server. If a decision does not arrive, or the server answers
// with an error, [Opts.OnUnavailable] decides, and [Decision.Unavailable] has the reason. AllowEach
// itself returns an error only if ctx has ended, (the server may then have counted the takes), or an
// [ErrTake] if a take is invalid (it has then sent nothing).
func (l *Limiter) AllowEach(ctx context.Context, takes ...Take) ([]Decision, error) {
	reqs := make([]redis.Request, len(takes))
	for i, take := range takes {
		if err := l.opts.check(take); err != nil {
			return nil, err
		}
		reqs[i] = l.script.Request([]string{l.opts.Prefix + take.Key},
			l.opts.Rate.Count, l.opts.Rate.Per.Microseconds(), l.opts.Rate.Burst, take.N)
	}
	timed, cancel := context.WithTimeout(ctx, l.opts.Timeout)
	defer cancel()
	decisions := make([]Decision, len(takes))
	for i, res := range l.db.SendMany(timed, reqs) {
		answer, err := redis.As[[]int64](res)
		if err != nil && ctx.Err() != nil {
			return nil, err
		}
		if err != nil || len(answer) != answerLen {
			decisions[i] = l.unavailable(takes[i], err)
			continue
		}
		decisions[i] = Decision{
			Allowed:    answer[0] == 1,
			Remaining:  int(answer[1]),
			RetryAfter: time.Duration(answer[2]) * time.Microsecond,
			ResetAfter: time.Duration(answer[3]) * time.Microsecond,
		}
	}
	return decisions, nil
}

// unavailable decides without the server.
func (l *Limiter) unavailable(take Take, err error) Decision {
	if err == nil {
		err = errAnswer
	}
	d := Decision{Unavailable: err}
	switch l.opts.OnUnavailable {
	case Allow:
		d.Allowed = true
	case Local:
		d = l.local.take(time.Now(), take)
		d.Unavailable = err
	}
	return d
}
