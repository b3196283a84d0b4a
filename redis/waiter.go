package redis

import (
	"context"
	"sync"
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/command"
	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/resp"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/internal/values"
)

// waiter is the future of a caller that waits for one result. Waiters of encoded requests are
// pooled. A user's Sender gets a waiter that is used only once, so resolving it twice can't give
// another caller a wrong result.
//
// The caller and the sender share a pooled waiter until it is resolved or its request is withdrawn.
// Then only the caller owns it, and recycles it. If the caller abandons the waiter, the resolver
// owns and recycles it: see the states of a call.
type waiter struct {
	// The fields that every request needs, up to use, are in one cache line: with a thousand
	// callers the waiter is no longer in the processor's caches when the reply comes. (The
	// runtime aligns objects of its size to cache lines.)
	call
	res             any
	pooled          bool
	typed, observed bool // as in send.Request
	blocks          bool // the request may block, and ctx is set
	// use counts the uses of a pooled waiter, to recognize the ticket of an earlier use. It changes
	// only while nobody else has the waiter.
	use uint32

	ctx    context.Context // if blocks is set; or a leftJudge
	target target          // where DecodeReply puts the reply, if typed is set
	queued
	lastPlace // if observed is set
}

var waiters = sync.Pool{New: func() any {
	return &waiter{call: newCall(), pooled: true}
}}

// newWaiter returns a waiter for a request that s will send.
func newWaiter(s Sender) *waiter {
	w := &waiter{call: newCall()}
	w.of(s)
	return w
}

// of prepares the call for requests that s will send. A user's Sender may do anything before its
// Send returns, so until then the call does not get the right to read.
func (c *call) of(s Sender) {
	if to := open(s); to.backend == nil || to.memory != nil {
		c.state.Store(callSending)
	}
}

// send calls enter, which sends the call's requests. If enter panics or ends the goroutine, the
// call leaves, because it may have got the right to read.
func (c *call) send(enter func()) {
	sent := false
	defer func() {
		if !sent {
			c.state.CompareAndSwap(callSending, callPending)
			c.listen()
			c.leave(send.Ticket{}, send.ReadRight{})
		}
	}()
	enter()
	sent = true
}

func (w *waiter) recycle() {
	if !w.pooled {
		return
	}
	w.res = nil
	if w.typed || w.observed || w.blocks {
		w.reset()
	}
	waiters.Put(w)
}

// reset empties the fields that only some requests need.
func (w *waiter) reset() {
	w.typed, w.target, w.stays = false, target{}, false
	if w.observed {
		w.observed = false
		w.AnsweredBy(send.Server{})
	}
	w.blocks, w.ctx = false, nil
}

// Resolve implements Future.
func (w *waiter) Resolve(res any, _ uint64) {
	if !w.pooled && w.state.Load() == callResolved {
		return
	}
	w.res = res
	if !w.resolve() {
		w.forget()
	}
}

// ResolveText implements send.TextTaker.
func (w *waiter) ResolveText(text string, n uint64) {
	if w.typed && w.target.SetText(text) {
		w.target.filled = true
		w.Resolve(nil, n)
		return
	}
	w.Resolve([]byte(text), n)
}

// Queued implements send.Queuer. It is called before anybody can resolve the waiter.
func (w *waiter) Queued(t send.Ticket) { w.queuedBy(w.use, t) }

// Observes implements send.Observer.
func (w *waiter) Observes() bool { return w.observed }

// Cancelled implements Future.
func (w *waiter) Cancelled() error {
	if w.blocks && w.ctx.Err() != nil {
		return errs.ErrRequestCancelled.Wrap(w.ctx.Err(), "the caller's context ended")
	}
	if w.state.Load() == callAbandoned {
		return errs.ErrRequestCancelled.New("the caller's context ended")
	}
	return nil
}

// Context is called by send.ContextOf.
func (w *waiter) Context() context.Context {
	if !w.blocks {
		return context.Background()
	}
	return w.ctx
}

// result waits until the request is resolved, or ctx ends. It ends the caller's use of the waiter.
// ticket is the ticket of the request, if it is known. result moves the value in the waiter's
// target to t, and sets seen to the server that answered.
func (w *waiter) result(ctx context.Context, ticket send.Ticket, t *target, seen *send.Server) any {
	if r, ended := w.wait(ctx, &ticket); ended {
		if err := w.left(ctx, ticket, r); err != nil {
			return err
		}
	}
	return w.taken(t, seen)
}

// taken returns the result of a request that is resolved or withdrawn, and recycles the waiter. It sets t and
// seen as result does.
func (w *waiter) taken(t *target, seen *send.Server) any {
	if w.typed {
		*t = w.target
	}
	if seen != nil {
		*seen = w.last()
	}
	res := w.res
	w.recycle()
	return res
}

// left ends the wait of a caller whose context has ended or whose server has stalled. r is the
// right to read that wait has returned. If the request is not resolved yet, left returns the
// caller's error, and from then on the resolver owns the waiter. Otherwise left returns nil, and
// the result is in w.res.
func (w *waiter) left(ctx context.Context, ticket send.Ticket, r send.ReadRight) any {
	last := w.lastQueued(w.use, ticket)
	stalled := ctx.Err() == nil
	switch w.leave(ticket, r) {
	case endAbandoned:
		if stalled {
			return errStalled
		}
		if p, paused := last.Queue.(interface{ Unsent() bool }); paused && p.Unsent() {
			return errs.Withdrawn(ctx)
		}
		return withDelay(errs.Abandoned(ctx), last)
	case endWithdrawn:
		if w.res = any(errStalledUnsent); !stalled {
			w.res = withDelay(errs.Withdrawn(ctx), last)
		}
	}
	return nil
}

// DecodeReply implements resp.ReplyDecoder.
func (w *waiter) DecodeReply(d *resp.Decoder, _ uint64) (any, error) {
	res, filled, err := d.DecodeScalar(&w.target.Scalar)
	w.target.filled = filled && err == nil
	return res, err
}

var _ resp.ReplyDecoder = (*waiter)(nil)

// never takes the place of the Done channel of a context that does not end.
var never = make(chan struct{})

func sendAndWait(ctx context.Context, to *opened, cmd string, args []any, t *target, seen *send.Server) any {
	if to.backend == nil {
		if to.delegate != nil {
			return do(ctx, to.delegate, cmd, args, t, seen)
		}
		return sendPlain(ctx, to.Sender, cmd, args, seen)
	}
	scratch := send.GetScratch()
	var bad int
	if scratch.Buf, bad = resp.AppendCommand(scratch.Buf, cmd, args); bad >= 0 {
		send.PutScratch(scratch)
		return errArgument(cmd, args, bad)
	}
	if to.memory != nil {
		if res, ok := recall(to.memory, scratch.Buf, t, seen); ok {
			send.PutScratch(scratch)
			return res
		}
	}
	r := &scratch.Request
	r.Encoded(cmd, args, scratch.Buf, to.backend.WantsSlot())
	w := pooledWaiter(ctx, r, t, seen)
	w.send(func() { to.backend.SendEncoded(r, w, 0) })
	ticket := r.Ticket
	if by := r.Judge; by != nil {
		r.Judge = nil
		send.PutScratch(scratch)
		return w.judged(ctx, ticket, t, seen, by)
	}
	send.PutScratch(scratch)
	return w.result(ctx, ticket, t, seen)
}

// pooledWaiter takes a waiter for an encoded request, and prepares waiter and request for the kind
// of result that the caller wants.
func pooledWaiter(ctx context.Context, r *send.Request, t *target, seen *send.Server) *waiter {
	w := waiters.Get().(*waiter)
	w.use++
	r.Ticket, r.Done, r.Inline = send.Ticket{}, ctx.Done(), r.Shared == command.WouldBlock
	if r.Inline { // while the request runs, its sender watches the context
		r.Done, w.blocks, w.ctx = nil, true, ctx
	} else if r.Done == nil && r.ReadOnly && r.Slot >= 0 {
		r.Done = never // the caller must listen, because the server may stall while another one could answer
	}
	if w.deaf = r.Done != nil; w.deaf {
		w.state.Store(callDeaf)
	} else {
		w.state.Store(callPending)
	}
	w.observed = seen != nil
	if t != nil && t.Kind != resp.NoKind {
		w.typed, w.target = true, *t
		w.stays = cap(t.Bytes) > 0
		t.Bytes = nil // result gives the caller its buffer back
	}
	r.Caller, r.Plain, r.Typed, r.Observed = &w.call, false, w.typed, w.observed
	r.Deadline, _ = ctx.Deadline()
	return w
}

// sendPlain is sendAndWait for a Sender that takes plain requests.
func sendPlain(ctx context.Context, s Sender, cmd string, args []any, seen *send.Server) any {
	call := command.Of(cmd, args)
	for i := range args {
		if !call.Sendable(i) {
			return errArgument(cmd, args, i)
		}
	}
	s = known(s)
	w := newWaiter(s)
	w.observed = seen != nil
	if call.Verdict(false) == command.WouldBlock {
		w.blocks, w.ctx = true, ctx
	}
	clones := command.WithDurations(cmd, values.CloneArgs(args))
	w.send(func() { s.Send(Request{Cmd: cmd, Args: clones}, w, 0) })
	return w.result(ctx, w.heeded(), nil, seen)
}

// awaitCapacity is called with the error of a full queue. It waits until there is room for the
// request. If again is true, the room is reserved and the request must be sent, even if the context
// has ended since. Otherwise the returned error is the result of the request.
func awaitCapacity(ctx context.Context, err error) (again bool, _ error) {
	full := errs.AsErrorx(err)
	if !full.IsOfType(errs.ErrQueueFull) {
		return false, err
	}
	queue, ok := full.Property(errs.EKCapacity)
	if !ok {
		return false, err
	}
	since := time.Now()
	if queue.(send.CapacityWaiter).AwaitCapacity(ctx) != nil {
		return false, errWithdrawnFull(ctx, full).WithProperty(errs.EKDelay, delayOutside(queue, since))
	}
	return true, nil
}

// errWithdrawnFull returns the error of a request that was not sent, because a queue was full until ctx
// ended.
func errWithdrawnFull(ctx context.Context, full *errorx.Error) *errorx.Error {
	return errs.Within(errs.Withdrawn(ctx), "%s", full.Message())
}
