package redisfailover

import (
	"context"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/resp"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/redis"
)

// attempt is the future of requests that are sent to the member of a term without a send.Judge. Such are requests
// that block, requests with a user's future, requests that are sent together, and requests to a sender of another
// library. attempt counts the results for the member's health. A request that blocks ends with the term.
type attempt struct {
	send.Forward
	of *term
	// ctx is the context of a blocking request; nil for other requests. It ends with the caller's context
	// or with the term. When the request is resolved, end is called.
	ctx context.Context
	end context.CancelFunc
}

// newAttempt returns the future of a single request.
func newAttempt(of *term, cb redis.Future, blocks bool) *attempt {
	a := &attempt{Forward: send.Forward{To: cb}, of: of}
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

// Cancelled implements redis.Future. If a caller waits for the request, it is also cancelled when it must leave its
// member: see term.Left.
func (a *attempt) Cancelled() error {
	if err := a.Forward.Cancelled(); err != nil || a.Caller() == nil {
		return err
	}
	return a.of.Left()
}

// Resolve implements redis.Future.
func (a *attempt) Resolve(res any, n uint64) {
	res = a.of.Judged(res, 1)
	if err, failed := res.(error); failed {
		res = a.explained(err)
	}
	if a.end != nil {
		a.end()
	}
	send.Resolve(a.To, res, n)
}

// explained returns the error of a request that may block. If the request has ended with the term, the error says
// so, and has the outcome of err.
func (a *attempt) explained(err error) error {
	typed := redis.AsErrorx(err)
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
