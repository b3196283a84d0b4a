package rediscluster

import (
	"context"
	"sync"
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/backend"
	"github.com/joomcode/redispipe/internal/resp"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster/internal/route"
	"github.com/joomcode/redispipe/redisconn"
)

// attempt is a request that the cluster may send several times. It is the future of the request on
// each connection: it passes a value on to the user's future, and leaves errors to the retrier. It
// keeps the request encoded. It is recycled when the user's future is resolved.
type attempt struct {
	retrier
	send.Forward
	n   uint64
	req send.Request
	buf []byte // owned by the attempt; req.Buf is a part of it
	// again is the time of the last retry of a request that may block; zero before the first.
	again time.Time
	// named is set if the attempt must add the request to errors. Package redis itself adds the
	// requests that it encodes.
	named bool
}

// attemptKeptBuffer is the size of the largest buffer that a recycled attempt keeps, so that one large
// request does not pin its memory forever.
const attemptKeptBuffer = 16 << 10

var attempts = sync.Pool{New: func() any { return &attempt{} }}

// newAttempt returns an attempt for a copy of an encoded request.
func (c *Cluster) newAttempt(r *send.Request, cb redis.Future, n uint64) *attempt {
	a := attempts.Get().(*attempt)
	a.c, a.request, a.To, a.n, a.req = c, a, cb, n, *r
	a.buf = append(a.buf[:0], r.Buf...)
	a.req.Buf, a.req.Ticket, a.req.Inline, a.req.Done = a.buf, send.Ticket{}, false, nil
	return a
}

// ofUser prepares a request that a user has passed to a method of a Sender. Package redis prepares the
// requests that it encodes.
func (a *attempt) ofUser() {
	a.named, a.req.Caller, a.req.Observed = true, send.CallerOf(a.To), send.Observes(a.To)
}

// start sends the request for the first time, unless it can't be routed.
func (a *attempt) start(w *routed) {
	if err := w.specOf(&a.req, &a.spec); err != nil {
		a.fail(err)
		return
	}
	if a.spec.blocks {
		send.Queued(a.To, send.Ticket{Heeded: true})
	}
	a.dispatch()
}

// send is Send with a policy.
func (w *routed) send(req redis.Request, cb redis.Future, n uint64) {
	defer w.c.recovered() // cb may panic if it is resolved before send returns
	a := w.c.newAttempt(&send.Request{}, cb, n)
	if err := a.Cancelled(); err != nil {
		a.fail(errCancelled(err).WithProperty(redis.EKRequest, req))
		return
	}
	var err error
	a.req, a.buf, err = backend.Encode(a.buf, req, true)
	a.ofUser()
	if err != nil {
		a.finish(err)
		return
	}
	a.start(w)
}

// SendEncoded implements send.Backend. Package redis calls it instead of send, with a request that
// it has encoded.
func (w *routed) SendEncoded(r *send.Request, cb redis.Future, n uint64) {
	a := w.c.newAttempt(r, cb, n)
	if err := w.specOf(r, &a.spec); err != nil {
		a.fail(err)
		return
	}
	r.Ticket.Heeded = a.spec.blocks
	l := w.c.topology.Load().Route(&a.spec.Spec)
	if open := a.enter(l); l == nil || !open {
		a.follow(l, open, false)
		return
	}
	moves := a.moves()
	hedged := moves && w.c.rules.Hedge != nil
	if hedged {
		r.Done = nil // the caller must listen, because a deaf caller (see package redis) would learn of a stall late
		r.Typed, a.req.Typed = false, false
	}
	r.Moves = moves
	l.Backend.SendEncoded(r, a, 0)
	r.Moves = false // the caller may use r again
	l.TakeTicket(r)
	r.Ticket.Moves, r.Ticket.Apart = moves && r.Ticket.Queue == l, hedged
}

// moves reports whether the request is a read that another node may answer and that its caller can send
// again.
func (a *attempt) moves() bool {
	return a.spec.Replicas && a.req.ReadOnly && !a.spec.blocks && a.req.Caller != nil
}

// sendTo implements retryable.
func (a *attempt) sendTo(conn *redisconn.Connection, asking bool) {
	if a.spec.blocks && !a.failed.IsZero() {
		a.again = time.Now()
	}
	a.req.Asking = asking
	queuer, ok := a.To.(send.Queuer)
	if !ok || a.spec.blocks {
		backend.Of(conn).SendEncoded(&a.req, a, 0)
		return
	}
	again := new(route.Resent)
	queuer.Queued(send.Ticket{Queue: again}) // first: once the request is sent, the future may be reused for another one
	req := a.req
	backend.Of(conn).SendEncoded(&req, a, 0)
	again.Queued(req.Ticket)
}

// Resolve implements redis.Future.
func (a *attempt) Resolve(res any, _ uint64) {
	if err, failed := res.(error); failed {
		failure := redis.AsErrorx(err)
		if a.blocked(failure) {
			a.tries, a.failed = tries{}, time.Time{} // forget earlier attempts: this failure counts as the first
		}
		a.handleError(failure)
		return
	}
	a.finish(res)
}

// blocked reports whether a retried request was blocked at the server before the server refused it. It
// judges by the time since the retry: a server that refuses a request at once takes less.
func (a *attempt) blocked(refusal *errorx.Error) bool {
	return a.spec.blocks && !a.again.IsZero() && refusal.IsOfType(redis.ErrResult) && time.Since(a.again) >= maxElapsed
}

// Cancelled implements redis.Future.
func (a *attempt) Cancelled() error {
	if err := a.Forward.Cancelled(); err != nil || a.req.Judge == nil {
		return err
	}
	return a.req.Judge.Left()
}

// Context is called by send.ContextOf.
func (a *attempt) Context() context.Context {
	if ctx := a.Forward.Context(); ctx.Done() != nil || a.req.Judge == nil {
		return ctx
	}
	return a.req.Judge.Context()
}

// DecodeReply implements resp.ReplyDecoder. It must only be called if the user's future implements it
// as well.
func (a *attempt) DecodeReply(d *resp.Decoder, _ uint64) (any, error) {
	return a.To.(resp.ReplyDecoder).DecodeReply(d, a.n)
}

// nature implements retryable.
func (a *attempt) nature() send.Nature { return a.req.Nature() }

// fail implements retryable.
func (a *attempt) fail(err *errorx.Error) {
	if _, known := err.Property(redis.EKRequest); a.named && !known {
		err = err.WithProperty(redis.EKRequest, decode(&a.req))
	}
	a.finish(err)
}

// finish resolves the request and ends the attempt.
func (a *attempt) finish(res any) {
	cb, n := a.To, a.n
	a.leave()
	buf := a.buf
	if cap(buf) > attemptKeptBuffer {
		buf = nil
	}
	*a = attempt{buf: buf}
	attempts.Put(a)
	send.Resolve(cb, res, n)
}

var _ resp.ReplyDecoder = (*attempt)(nil)

// errCancelled returns the error of a request whose future is cancelled before it is sent.
func errCancelled(cause error) *errorx.Error {
	return redis.ErrRequestWithdrawn.Wrap(cause, "cancelled before it was sent")
}

// decode returns an encoded request as a request with string arguments, so that
// an error can name it.
func decode(r *send.Request) redis.Request {
	return redis.Request{Cmd: r.Cmd, Args: r.Args()}
}
