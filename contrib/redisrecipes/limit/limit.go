// Package limit limits rates for all processes that share a Redis: it bounds the requests of each
// user, address or API key.
//
//	limiter, err := limit.New(client, limit.Opts{Rate: limit.Rate{Count: 100, Per: time.Minute}})
//	…
//	d, err := limiter.Allow(ctx, "user:1")
//
// A script decides, with the clock of the server. Requests for the same key that wait at the same time share a
// call of the script. The guide is docs/recipes.md.
package limit

import (
	"context"
	"fmt"
	"time"

	"github.com/joomcode/redispipe/contrib/redisrecipes/internal/lease"
	"github.com/joomcode/redispipe/redis"
)

// Limiter decides which requests pass. It is safe for concurrent use. It has goroutines only while calls wait
// for decisions.
type Limiter struct {
	db     redis.Sender
	opts   Opts
	script *redis.Script
	lines  lines
	local  *local  // nil unless OnUnavailable is Local
	quotas *quotas // nil without Opts.Batch
}

// New returns a limiter. It returns an [ErrOpts] if the options are invalid.
func New(db redis.Sender, opts Opts) (*Limiter, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	if !lease.Usable(db) {
		return nil, fmt.Errorf("%w: the sender is nil, or was not opened with redispipe.Open", ErrOpts)
	}
	script := smooth
	if opts.Kind == Window {
		script = window
	}
	l := &Limiter{db: db, opts: opts, script: script, lines: lines{byKey: map[string]*line{}}}
	if opts.OnUnavailable == Local {
		l.local = newLocal(opts.Rate, opts.Processes)
	}
	if opts.Batch > 0 {
		l.quotas = newQuotas(opts)
	}
	return l, nil
}

// Take asks whether N requests of a key may pass together: either all of them pass, or none.
type Take struct {
	Key string
	N   int // at most the burst; 0 takes nothing and only reports the state
}

// Decision says whether a request passes.
type Decision struct {
	Allowed bool
	// Remaining is the number of requests that would pass now.
	Remaining int
	// RetryAfter is the time after which the same take passes, if no other requests pass until then. It is
	// zero if the take is allowed.
	RetryAfter time.Duration
	// ResetAfter is the time after which the whole burst passes, if no other requests pass until then.
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

// AllowEach decides about several takes: each passes or is refused, independently of the others. It returns the
// decisions in order.
//
// It waits at most [Opts.Timeout] for the server. If a decision does not arrive, or the server answers
// with an error, [Opts.OnUnavailable] decides, and [Decision.Unavailable] has the reason. AllowEach
// itself returns an error only if ctx has ended (the server may then have counted the takes), or an
// [ErrTake] if a take is invalid (it has then sent nothing).
func (l *Limiter) AllowEach(ctx context.Context, takes ...Take) ([]Decision, error) {
	for _, take := range takes {
		if err := l.opts.check(take); err != nil {
			return nil, err
		}
	}
	if ctx == nil {
		return nil, redis.ErrContextIsNil.New("limit: the context is nil")
	}
	decisions, rest := make([]Decision, len(takes)), make([]int, 0, len(takes))
	for i, take := range takes {
		decided := false
		if l.quotas != nil {
			decisions[i], decided = l.quotas.take(take)
		}
		if !decided {
			rest = append(rest, i)
		}
	}
	if len(rest) == 0 {
		return decisions, nil
	}
	if err := l.ask(ctx, takes, rest, decisions); err != nil {
		return nil, err
	}
	return decisions, nil
}

// ask asks the server about the takes whose indexes are in rest, and sets their decisions.
func (l *Limiter) ask(ctx context.Context, takes []Take, rest []int, decisions []Decision) (ended error) {
	timed, cancel := context.WithTimeout(ctx, l.opts.Timeout)
	defer cancel()
	asks := make([]asked, len(rest))
	var own []*group
	for at, i := range rest {
		a := &asks[at]
		if a.group, a.at, a.own = l.lines.enter(ctx, takes[i]); a.own {
			own = append(own, a.group)
		}
	}
	l.callOwn(timed, own)
	for at, i := range rest { // even after an error, so that each take is counted as left
		answer, err := l.lines.wait(timed, asks[at])
		switch {
		case err == nil:
			decisions[i] = decisionOf(answer)
		case ctx.Err() != nil:
			ended = err
		default:
			decisions[i] = l.unavailable(takes[i], err)
		}
	}
	return ended
}

func decisionOf(answer []int64) Decision {
	return Decision{
		Allowed:    answer[0] == 1,
		Remaining:  int(answer[1]),
		RetryAfter: time.Duration(answer[2]) * time.Microsecond,
		ResetAfter: time.Duration(answer[3]) * time.Microsecond,
	}
}

// callOwn sends calls for a caller that waits for them.
func (l *Limiter) callOwn(ctx context.Context, groups []*group) {
	defer func() {
		for _, g := range groups {
			if next := l.lines.leave(g.key); next != nil {
				// The goroutine sends the calls for the waiting takes of the key, and ends when none waits.
				go l.serve(next)
			}
		}
	}()
	l.call(ctx, groups...)
}

// serve sends the calls of a key until no take waits.
func (l *Limiter) serve(g *group) {
	for ; g != nil; g = l.lines.leave(g.key) {
		l.serveOne(g)
	}
}

// serveOne sends a call. If the sender panics, serveOne recovers the panic, which becomes the result.
func (l *Limiter) serveOne(g *group) {
	defer close(g.done)
	defer func() {
		if p := recover(); p != nil {
			g.err = fmt.Errorf("limit: the sender panicked: %v", p)
		}
	}()
	ctx, cancel := context.WithTimeout(g.ctx, l.opts.Timeout)
	defer cancel()
	l.call(ctx, g)
}

// call sends the script calls of the groups, and stores the answers in the groups.
func (l *Limiter) call(ctx context.Context, groups ...*group) {
	sent := make([]time.Time, len(groups))
	if len(groups) == 1 {
		g := groups[0]
		var args []any
		args, sent[0] = l.args(g)
		g.answers, g.err = redis.As[[]int64](l.script.Do(ctx, l.db, []string{l.opts.Prefix + g.key}, args...))
	} else {
		reqs := make([]redis.Request, len(groups))
		for i, g := range groups {
			var args []any
			args, sent[i] = l.args(g)
			reqs[i] = l.script.Request([]string{l.opts.Prefix + g.key}, args...)
		}
		for i, res := range (redis.SyncCtx{S: redis.WithScripts(l.db, l.script)}).SendMany(ctx, reqs) {
			groups[i].answers, groups[i].err = redis.As[[]int64](res)
		}
	}
	for i, g := range groups {
		if last := len(g.ns) - 1; l.quotas != nil && g.takes() && g.whole() {
			l.quotas.answered(g.key, sent[i], int(g.answers[len(g.answers)-1]), g.ns[last], decisionOf(g.answers[answerLen*last:]))
		}
	}
}

// args returns the arguments of the script, and the time of the call, which is zero without Opts.Batch.
func (l *Limiter) args(g *group) (args []any, sent time.Time) {
	ahead := 0
	if l.quotas != nil && g.takes() {
		sent, ahead = l.quotas.ask(g.key)
	}
	args = append(make([]any, 0, 4+len(g.ns)), l.opts.Rate.Count, l.opts.Rate.Per.Microseconds(), l.opts.Rate.Burst, ahead)
	for _, n := range g.ns {
		args = append(args, n)
	}
	return args, sent
}

// unavailable decides without the server.
func (l *Limiter) unavailable(take Take, err error) Decision {
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
