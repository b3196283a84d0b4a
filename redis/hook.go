package redis

import (
	"context"
	"slices"
	"time"
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

// Operation describes what a hook is called around. It does not have the arguments of
// requests.
type Operation struct {
	Kind OperationKind
	// Command is the name of the command in upper case, with the subcommand ("CLUSTER
	// SLOTS"). It is empty if the operation has several commands, and [OtherCommand] if
	// the command is not known and too many unknown names were sent before. So the number
	// of names is bounded, and they can be used as labels.
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

// Completion says how an operation ended.
type Completion struct {
	// Result is what the future, or the caller of Sync or SyncCtx, gets; for
	// OperationMany it is a []any. It is nil if DoInto has read the value. It holds
	// users' data: don't log it, and don't change it.
	Result any
	// Err is the error; for several results, the first error with the Outcome.
	Err error
	// Outcome is what became of the request. For several requests it is the worst, in
	// this order: unknown, not sent, refused, value.
	Outcome  Outcome
	Duration time.Duration
	// Address is the address of the server that answered last, or could not be reached,
	// as it was given to the connection; Peer is the remote address of the socket. They
	// are empty if not known.
	Address, Peer string
	// Cached is set if all requests of the operation were answered from memory: see package
	// rediscache. Address and Peer are then empty.
	Cached bool
}

// Hooks calls hooks around operations that are not requests to a Sender, for packages
// that are built on this one: redispubsub calls them around Subscribe and Unsubscribe.
// What [WithHook] says of a hook holds for each of them. The zero value has no hooks.
type Hooks struct{ all []*observer }

// NewHooks returns Hooks, the outermost first.
func NewHooks(hooks ...Hook) Hooks {
	all := make([]*observer, len(hooks))
	for i, hook := range hooks {
		all[i] = &observer{Hook: hook}
	}
	return Hooks{all}
}

// Around calls f, with Before of each hook before it and After of each hook after it. f
// returns what After gets, without the Duration.
func (h Hooks) Around(ctx context.Context, op Operation, f func() Completion) {
	os := observe(ctx, h.all, op)
	end := f()
	for _, o := range slices.Backward(os) {
		end.Duration = o.Duration()
		o.End(end)
	}
}
