package redisfailover

import (
	"context"
	"sync"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/resp"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/redis"
)

// attempt is the future of requests that are sent to the member of a term. It counts the results for the
// member's health. If the request blocks, it ends with the term.
type attempt struct {
	send.Forward
	of *term
	// ctx is the context of a blocking request; nil for other requests. It ends with the caller's context
	// or with the term. When the request is resolved, end is called.
	ctx context.Context
	end context.CancelFunc
	// pooled is set for a single request to a sender of this library. Such a sender resolves the attempt
	// once, so it can be recycled.
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
		caller := send.ContextOf(cb)
		ctx, end := context.WithCancel(caller)
		stop := context.AfterFunc(of.ctx, end)
		a.ctx, a.end = leaving{ctx, caller, of}, func() {
			stop()
			end()
		}
	}
	return a
}

// Context returns the context of the request, for send.ContextOf.
func (a *attempt) Context() context.Context {
	if a.ctx != nil {
		return a.ctx
	}
	if ctx := a.Forward.Context(); ctx.Done() != nil {
		return ctx
	}
	return a.of.ctx
}

// leaving is the context of a blocking request.
type leaving struct {
	context.Context // ends with the caller's or with the term
	caller          context.Context
	of              *term
}

// Caller returns the caller's own context, for send.CallersContext. If the member is down, it returns the context
// that has ended, because the member may never answer.
func (l leaving) Caller() context.Context {
	if l.of.failed.Load() {
		return l.Context
	}
	return l.caller
}

// Cancelled implements redis.Future. A cluster calls it before it sends a request again. If the member is
// down and no longer active, Cancelled returns an error, so that redis.WithRetry can send the request to the
// member that is active. It does so only if a caller waits.
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
		return redis.ErrIO.New("%s: %s", a.of.left(), typed.Message()) // with this error, redis.WithRetry may send a read to another member
	}
	if !typed.IsOfType(redis.ErrRequestCancelled) || !redis.CausedBy(err, context.Canceled) || !a.of.over() || send.IsCancelled(a.To) {
		return err
	}
	return errs.Like(typed, nil, a.of.left()+": "+typed.Message())
}

// DecodeReply implements resp.ReplyDecoder. It must only be called if To implements it as well.
func (a *attempt) DecodeReply(d *resp.Decoder, n uint64) (any, error) {
	return a.To.(resp.ReplyDecoder).DecodeReply(d, n)
}

var (
	_ redis.Future      = (*attempt)(nil)
	_ resp.ReplyDecoder = (*attempt)(nil)
)
