package redisfailover

import (
	"context"
	"sync"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/resp"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/redis"
)

// attempt is the future of requests that are sent to the member of a term. It records how they end.
// A blocking request ends with the term.
type attempt struct {
	send.Forward
	of *term
	// ctx is the context of a blocking request. It ends with the caller's context, with the term, and,
	// by a call of end, when the request is resolved.
	ctx context.Context
	end context.CancelFunc
	// pooled is set for one request to a sender of this library, which resolves it once.
	pooled bool
}

var attempts = sync.Pool{New: func() any { return new(attempt) }}

// newAttempt returns the future of a single request.
func newAttempt(of *term, cb redis.Future, blocks bool) *attempt {
	var a *attempt
	if of.once {
		a = attempts.Get().(*attempt)
	} else {
		a = new(attempt)
	}
	a.To, a.of, a.pooled = cb, of, of.once
	if blocks {
		ctx, end := context.WithCancel(send.ContextOf(cb))
		stop := context.AfterFunc(of.ctx, end)
		a.ctx, a.end = ctx, func() {
			stop()
			end()
		}
	}
	return a
}

// Context is for send.ContextOf.
func (a *attempt) Context() context.Context {
	if a.ctx != nil {
		return a.ctx
	}
	if ctx := a.Forward.Context(); ctx.Done() != nil {
		return ctx
	}
	return a.of.ctx
}

// Cancelled implements redis.Future. A cluster that would send the request again, to servers that are down, asks it
// before. If a caller waits, redis.WithRetry then sends the request to the member that is active, if it may.
func (a *attempt) Cancelled() error {
	if err := a.Forward.Cancelled(); err != nil || !a.of.failed.Load() || a.Caller() == nil {
		return err
	}
	return errLeft
}

// Resolve implements redis.Future.
func (a *attempt) Resolve(res any, n uint64) {
	a.of.member.note(res)
	if err, failed := res.(error); failed {
		res = a.explained(err)
	}
	if a.end != nil {
		a.end()
	}
	to := a.To
	if a.pooled {
		*a = attempt{}
		attempts.Put(a)
	}
	send.Resolve(to, res, n)
}

// explained returns the error of a request. If the request has ended with the term, the error says so, and
// has the outcome of err.
func (a *attempt) explained(err error) error {
	typed := redis.AsErrorx(err)
	if redis.CausedBy(err, errLeft) && !typed.HasTrait(redis.ErrTraitNotSent) {
		return redis.ErrIO.New("%s: %s", a.of.left(), typed.Message()) // a read may be sent to another member
	}
	if !typed.IsOfType(redis.ErrRequestCancelled) || !redis.CausedBy(err, context.Canceled) || !a.of.over() || send.IsCancelled(a.To) {
		return err
	}
	return errs.Like(typed, nil, a.of.left()+": "+typed.Message())
}

// DecodeReply implements resp.ReplyDecoder. It is used only if To implements it.
func (a *attempt) DecodeReply(d *resp.Decoder, n uint64) (any, error) {
	return a.To.(resp.ReplyDecoder).DecodeReply(d, n)
}

var (
	_ redis.Future      = (*attempt)(nil)
	_ resp.ReplyDecoder = (*attempt)(nil)
)
