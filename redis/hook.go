package redis

import (
	"context"
	"log"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/joomcode/redispipe/internal/command"
	"github.com/joomcode/redispipe/internal/wire"
)

// Hook is called around the operations of a Sender: see [WithHook]. It is called
// from many goroutines at once.
type Hook interface {
	// Before is called before an operation is sent, in the goroutine of its caller.
	// ctx is the caller's, and context.Background where there is none. What it
	// returns is the context of After, and not that of the operation; nil stands
	// for ctx.
	Before(ctx context.Context, op Operation) context.Context
	// After is called once for each Before, with the result: before the caller gets
	// it from Sync or SyncCtx, and after a Future was resolved with it, in a
	// goroutine of its own.
	After(ctx context.Context, op Operation, end Completion)
}

// Operation is what a hook is called around. It shows no argument.
type Operation struct {
	Kind OperationKind
	// Command is the name of the command in upper case, with the subcommand
	// ("CLUSTER SLOTS"). It is empty if the requests of the operation are of several
	// commands, and [OtherCommand] if it is not known: users can't send so many
	// names that labels made of them have no bound.
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
	// OperationScan is a step of a Scanner, which sends nothing at the end of the
	// iteration.
	OperationScan
)

// Completion is how an operation has ended.
type Completion struct {
	// Result is what the future gets, or the caller of Sync or SyncCtx: of
	// OperationMany it is a []any. It is nil if DoInto has read the value. It holds
	// the data of users: don't log it, and don't change it.
	Result any
	// Err is the error, or of several results the first with the Outcome.
	Err error
	// Outcome is what became of the request. Of several it is the worst: unknown,
	// not sent, refused, value, in this order.
	Outcome  Outcome
	Duration time.Duration
	// Address is the address of the server that answered last, as it was given to
	// the connection, or that failed to; Peer is that of the socket. Each is empty
	// if it is not known.
	Address, Peer string
}

// WithHook returns a Sender that sends through s, and calls hook around each
// operation: those of Sync, SyncCtx and ChanFutured, Send and its kin with a Future,
// the steps of a Scanner, and what is sent to the senders that EachShard finds.
//
// What a hook does wrong harms its own operation only. A panic is recovered, and
// the first one printed by the standard logger. A hook that blocks delays its caller,
// or nobody where a Future was resolved. Operations that a hook itself sends, with
// the context that it was given, are not hooked again. No more than 4096 calls of a
// hook are under way at once: operations beyond that are sent without it.
//
// Requests that are retried or redirected by a cluster are one operation.
func WithHook(s Sender, hook Hook) Sender {
	return &hooked{s: s, hook: hook}
}

// hooked is a Sender with a hook. The wrappers look for this very type, so that they
// send to s as if there was no hook; a decorator that embeds it is sent to as any
// Sender of a user's.
type hooked struct {
	s       Sender
	hook    Hook
	running atomic.Int64 // calls of the hook
	panics  sync.Once
}

// hooksMost bounds the calls of a hook that are under way: a hook that calls itself
// needs no more than some megabytes of stack for them, and those that block no more
// goroutines.
const hooksMost = 4096

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

// end calls After.
func (o *observation) end(end Completion) {
	if o.h == nil || !o.h.enter() {
		return
	}
	defer o.h.leave()
	defer o.h.recovered()
	o.h.hook.After(o.ctx, o.op, end)
}

// endAside is end for futures: the goroutine that resolves them must not be held.
func (o *observation) endAside(end Completion) {
	if o.h == nil || o.h.running.Load() >= hooksMost {
		return
	}
	go o.end(end)
}

func (h *hooked) enter() bool {
	if h.running.Add(1) <= hooksMost {
		return true
	}
	h.leave()
	return false
}

func (h *hooked) leave() { h.running.Add(-1) }

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
			end.Err = AsError(res)
		}
	}
	if typed := AsErrorx(end.Err); typed != nil && end.Address == "" {
		address, _ := typed.Property(EKAddress)
		end.Address, _ = address.(string)
	}
	return end
}

// OtherCommand is the Operation.Command of a command that is not known.
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
	name := strings.ToUpper(commandName(&command.Call{}, cmd))
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
