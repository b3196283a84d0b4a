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

// waiter is the future of a caller that waits for one result. Waiters of encoded requests
// are pooled. A Sender of a user's gets a waiter that is used only once, so resolving it twice
// can't give another caller a wrong result.
//
// A pooled waiter is shared by its caller and its sender until it is resolved; then the
// caller alone owns it, and recycles it. If the caller abandons it, the resolver owns and
// recycles it: see the states of a call. After its request was withdrawn, the caller alone
// owns it.
type waiter struct {
	// The fields that every request needs, up to use, are in one cache line: with a thousand
	// callers the waiter is no longer in the processor's caches when the reply comes. (The
	// runtime aligns objects of its size to cache lines.)
	call
	res             any
	pooled          bool
	typed, observed bool // as in send.Request
	blocks          bool // ctx is set: the request may block
	// use counts the uses of a pooled waiter, so that the ticket of an earlier use is
	// recognized. It changes only while nobody else has the waiter.
	use uint32

	ctx    context.Context // if blocks is set
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

// of prepares the call for requests that s will send. A Sender of a user's may do
// anything before its Send returns, so until then the call does not get the right to
// read.
func (c *call) of(s Sender) {
	if to := open(s); to.backend == nil || to.memory != nil {
		c.state.Store(callSending)
	}
}

// send calls enter, which sends the call's requests. If that ends the goroutine, by a
// panic or otherwise, the call leaves, because it may have got the right to read.
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
		w.recycle()
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

// Queued implements send.Queuer. It is called before the waiter may be resolved.
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

// Context is for send.ContextOf.
func (w *waiter) Context() context.Context {
	if !w.blocks {
		return context.Background()
	}
	return w.ctx
}

// result waits until the request is resolved, or ctx ends. It ends the caller's use of
// the waiter. ticket is the request's, if it is known. result moves the value in the
// waiter's target to t, and the place that the answer came from to seen.
func (w *waiter) result(ctx context.Context, ticket send.Ticket, t *target, seen *send.Server) any {
	if r, ended := w.wait(ctx, &ticket); ended {
		if err := w.left(ctx, ticket, r); err != nil {
			return err
		}
	}
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

// left ends the wait of a caller whose context has ended or whose server has stalled; r is from
// wait. If the request is not resolved yet, left returns the caller's error, and from then on the
// resolver owns the waiter. Otherwise left returns nil, and the result is in w.res.
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

// never stands for the end of a context that does not end.
var never = make(chan struct{})

func sendAndWait(ctx context.Context, to *opened, cmd string, args []any, t *target, seen *send.Server) any {
	if to.backend == nil {
		if d := delegateOf(to.Sender); d != nil {
			return do(ctx, d, cmd, args, t, seen)
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
	send.PutScratch(scratch)
	return w.result(ctx, ticket, t, seen)
}

// pooledWaiter takes a waiter for an encoded request, and prepares both for the kind of result that
// the caller wants.
func pooledWaiter(ctx context.Context, r *send.Request, t *target, seen *send.Server) *waiter {
	w := waiters.Get().(*waiter)
	w.use++
	r.Ticket, r.Done, r.Inline = send.Ticket{}, ctx.Done(), r.Shared == command.WouldBlock
	if r.Inline { // while it runs, its sender watches the context
		r.Done, w.blocks, w.ctx = nil, true, ctx
	} else if r.Done == nil && r.ReadOnly && r.Slot >= 0 {
		r.Done = never // the server may stall while another could answer
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

// sendPlain is sendAndWait with a Sender that takes plain requests.
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

// awaitCapacity waits, after the error of a full queue, until there is room for the
// request. If again is true, the request must be sent, even if the context has since ended,
// because the room is reserved for it. Otherwise the error is the result of the
// request.
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
