package redis

import (
	"context"
	"log"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/joomcode/redispipe/internal/command"
	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/wire"
)

// Hook is called around the operations of a Sender: see [WithHook]. It is called
// from many goroutines at once.
type Hook interface {
	// Before is called before an operation is sent, in the goroutine of its caller,
	// with the caller's context or context.Background. The context that it returns is
	// passed to After, not to the operation; nil stands for ctx.
	Before(ctx context.Context, op Operation) context.Context
	// After is called once for each Before, with the result. For Sync and SyncCtx it is
	// called before the caller gets the result; for a Future, after it was resolved, in
	// a goroutine of its own.
	After(ctx context.Context, op Operation, end Completion)
}

// Operation is what a hook is called around. It has no arguments.
type Operation struct {
	Kind OperationKind
	// Command is the name of the command in upper case, with the subcommand ("CLUSTER
	// SLOTS"). It is empty if the operation has several commands, and [OtherCommand] if
	// the command is not known and too many unknown names were sent already: so the
	// number of names is bounded, and they can be used as labels.
	Command string
	// Requests is the number of requests, without MULTI and EXEC.
	Requests int
}

// OperationKind says how the requests of an operation were sent.
type OperationKind uint8

const (
	// OperationRequest is one request.
	OperationRequest OperationKind = iota
	// OperationMany is a call of SendMany.
	OperationMany
	// OperationTransaction is a call of SendTransaction.
	OperationTransaction
	// OperationScan is a step of a Scanner. The last step, which only reports the end,
	// sends nothing.
	OperationScan
	// OperationWatch is a call of Watch with all of its attempts. Its Command is WATCH,
	// and its Requests are 0: those that the function sends, and its transaction, are
	// operations of their own. If the function fails, it is not sent.
	OperationWatch
	// OperationSubscribe is a call of Subscribe of package redispubsub. The Command is that
	// of the topics' kind, such as SSUBSCRIBE, and empty if they are of several kinds;
	// Requests is the number of topics.
	OperationSubscribe
	// OperationUnsubscribe is the same for Unsubscribe.
	OperationUnsubscribe
)

// Completion is how an operation has ended.
type Completion struct {
	// Result is what the future, or the caller of Sync or SyncCtx, gets; of
	// OperationMany it is a []any. It is nil if DoInto has read the value. It holds
	// data of users: don't log it, and don't change it.
	Result any
	// Err is the error; of several results, the first error with the Outcome.
	Err error
	// Outcome is what became of the request. Of several it is the worst, in this order:
	// unknown, not sent, refused, value.
	Outcome  Outcome
	Duration time.Duration
	// Address is that of the server that answered last, or could not be reached, as it
	// was given to the connection; Peer is the remote address of the socket. They are
	// empty if not known.
	Address, Peer string
}

// WithHook returns a Sender that sends through s, and calls hook around each operation:
// those of Sync, SyncCtx and ChanFutured, those of the methods of Sender, the steps of
// a Scanner, the calls of a Session and of Watch, and what is sent to the senders that
// EachShard passes. redispubsub.Opts has hooks of subscribers.
//
// A hook can harm only its own operation. If it panics, the panic is recovered, and the
// first one is printed by the standard logger. If it blocks, it delays its caller, or
// nobody if it is called for a Future. Operations that a hook sends with the context
// that it was given are not hooked. While 4096 calls of a hook run, further operations are
// sent without it, and calls of After for Futures wait.
//
// A request that a cluster retries or redirects is one operation.
func WithHook(s Sender, hook Hook) Sender {
	return &hooked{s: s, hook: hook}
}

// hooked is a Sender with a hook. The wrappers look for this very type, so that they
// send to s as if there was no hook; a decorator that embeds it is sent to as any
// Sender of a user's.
type hooked struct {
	s      Sender
	hook   Hook
	panics sync.Once
	hookCalls
}

// inHook is the key of a context that h has given to its hook.
type inHook struct{ h *hooked }

// observation is an operation on its way. It is empty if it is not hooked.
type observation struct {
	h     *hooked
	ctx   context.Context
	op    Operation
	start time.Time
}

// begin calls Before.
func (h *hooked) begin(ctx context.Context, op Operation) (o observation) {
	if ctx.Value(inHook{h}) != nil || !h.enter() {
		return o
	}
	o = observation{op: op}
	defer h.leave()
	defer h.recovered()
	inner := context.WithValue(ctx, inHook{h}, true)
	if o.ctx = h.hook.Before(inner, op); o.ctx == nil {
		o.ctx = inner
	}
	o.h, o.start = h, time.Now() // else it has panicked
	return o
}

// end calls After, in the goroutine of its caller, however many calls are under way.
func (o *observation) end(end Completion) {
	if o.h == nil {
		return
	}
	o.h.running.Add(1)
	defer o.h.leave()
	o.after(end)
}

func (o *observation) after(end Completion) {
	defer o.h.recovered()
	o.h.hook.After(o.ctx, o.op, end)
}

// endAside is end for futures: the goroutine that resolves them must not be held.
func (o *observation) endAside(end Completion) {
	if o.h != nil {
		o.h.aside(func() { o.after(end) })
	}
}

// unhook returns the hooks of a sender, the outermost first, and what they wrap.
func unhook(s Sender) (hooks []*hooked, inner Sender) {
	for {
		if d := delegateOf(s); d != nil {
			s = d
		}
		h, ok := s.(*hooked)
		if !ok {
			return hooks, s
		}
		hooks, s = append(hooks, h), h.s
	}
}

// observations are those of one operation by several hooks.
type observations []observation

// observe begins an operation.
func observe(ctx context.Context, hooks []*hooked, op Operation) (os observations) {
	for _, h := range hooks {
		os = append(os, h.begin(ctx, op))
	}
	return os
}

// end ends the operation.
func (os observations) end(res any, place wire.Place) {
	for _, o := range slices.Backward(os) {
		o.end(o.completed(res, place))
	}
}

func (h *hooked) recovered() {
	if v := recover(); v != nil {
		h.panics.Do(func() { log.Printf("redispipe: a hook panicked: %v\n%s", v, debug.Stack()) })
	}
}

// completed describes the end of an operation.
func (o *observation) completed(res any, place wire.Place) (end Completion) {
	if o.h == nil {
		return end
	}
	end = Completion{Result: res, Duration: time.Since(o.start), Address: place.Address, Peer: place.Peer}
	results := []any{res}
	if o.op.Kind == OperationMany {
		results, _ = res.([]any)
	}
	for _, res := range results {
		outcome := OutcomeOf(res)
		if outcome > end.Outcome {
			end.Outcome = outcome
			end.Err = errs.Err(res)
		}
	}
	if typed := errs.AsErrorx(end.Err); typed != nil && end.Address == "" {
		address, _ := typed.Property(errs.EKAddress)
		end.Address, _ = address.(string)
	}
	return end
}

// Context is for wire.ContextOf.
func (f *hookedFuture) Context() context.Context { return wire.ContextOf(f.cb) }

// Queued implements wire.Queuer.
func (f *hookedFuture) Queued(t wire.Ticket) { wire.Queued(f.cb, t) }

// OtherCommand is the Operation.Command of a command that is not in the table, after
// 256 other such names were sent.
const OtherCommand = "_OTHER"

// modules are the commands that are not in the table, as those of modules. No more
// than modulesMost names are taken for commands.
var modules struct {
	names sync.Map
	count atomic.Int64
}

const modulesMost = 256

// operationName is the command's name for a hook. It keeps no reference to args.
func operationName(cmd string, args []any) string {
	call := command.Of(cmd, args)
	if call.Info != nil {
		return command.Lookup(call.Name).Name // the compiler takes call.Name for a part of args
	}
	name := strings.ToUpper(new(command.Call).ShownName(cmd))
	if _, known := modules.names.Load(name); known {
		return name
	}
	if name == "?" || name == "" || modules.count.Load() >= modulesMost || modules.count.Add(1) > modulesMost {
		return OtherCommand
	}
	modules.names.Store(name, nil)
	return name
}

// operation describes several requests.
func operation(kind OperationKind, reqs []Request) Operation {
	op := Operation{Kind: kind, Requests: len(reqs)}
	for i, req := range reqs {
		name := operationName(req.Cmd, req.Args)
		if i > 0 && name != op.Command {
			op.Command = ""
			break
		}
		op.Command = name
	}
	return op
}
