package redis

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/joomcode/redispipe/internal/command"
)

// Hook is called around the operations of a Sender: see [WithHook]. It must be safe for
// concurrent use.
type Hook interface {
	// Before is called before an operation is sent, in the goroutine of its caller, with the
	// caller's context or context.Background. The returned context is passed to After, not to the
	// operation. If it is nil, After gets ctx.
	Before(ctx context.Context, op Operation) context.Context
	// After is called once for each Before, with the result. For Sync and SyncCtx it is
	// called before the caller gets the result; for a Future, after it was resolved, in
	// its own goroutine.
	After(ctx context.Context, op Operation, end Completion)
}

// Operation describes the operation that a hook is called around. It contains no arguments of
// requests, except the name of a script or a function.
type Operation struct {
	Kind OperationKind
	// Command is the name of the command in upper case, with the subcommand ("CLUSTER SLOTS").
	// Command is empty if the operation has several commands, and [OtherCommand] if the command is
	// unknown and too many unknown names were sent before. So the number of names is bounded, and
	// you can use names as labels.
	Command string
	// Requests is the number of requests, without MULTI and EXEC.
	Requests int
	// Procedure is the hash of the script that EVALSHA or EVALSHA_RO runs, or the name of the function that
	// FCALL or FCALL_RO calls. It is empty for other commands, such as EVAL, and for several procedures. It
	// is [OtherCommand] if the name is malformed or 256 others were sent before.
	Procedure string
}

// OperationKind is the way in which the requests of an operation were sent.
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
	// and its Requests are 0, because the requests that the function sends, and its transaction,
	// are separate operations. If the function fails, the outcome is not sent.
	OperationWatch
	// OperationSubscribe is a call of Subscribe of package redispubsub. The Command fits
	// the kind of the topics, such as SSUBSCRIBE, and is empty if there are several kinds;
	// Requests is the number of topics.
	OperationSubscribe
	// OperationUnsubscribe is a call of Unsubscribe of package redispubsub. Its fields are like
	// those of OperationSubscribe.
	OperationUnsubscribe
	// OperationShift is a shift of a client of package redisfailover to another member. Its Command is
	// SHIFT, and its Requests are 0; the Address of the Completion is the name of the member, the Result a
	// redisfailover.LogShift. Before and After are called in the goroutine that checks the members, so
	// they should return quickly.
	OperationShift
)

// Completion is the end of an operation.
type Completion struct {
	// Result is the result that the future, or the caller of Sync or SyncCtx, gets. For
	// OperationMany it is a []any. If DoInto has read the value, Result is nil. It holds users'
	// data: don't log it, and don't change it.
	Result any
	// Err is the error. For several results, it is the first error with the Outcome.
	Err error
	// Outcome is the outcome of the request. For several requests it is the worst of their
	// outcomes, in this order: unknown, not sent, refused, value.
	Outcome  Outcome
	Duration time.Duration
	// Address is the address, as it was given to the connection, of the server that answered (for
	// several requests, the last one) or could not be reached. Peer is the remote address of the
	// socket. Address and Peer are empty if they are not known.
	Address, Peer string
	// Cached is set if all requests of the operation were answered from memory: see package
	// rediscache. Address and Peer are then empty.
	Cached bool
}

// OtherCommand is the Operation.Command of a command that is not in the table, after 256 other such
// names were sent. In the same way it stands for an Operation.Procedure.
const OtherCommand = "_OTHER"

// modules are commands that are not in the table, such as those of server modules. procedures are
// values of Operation.Procedure.
var modules, procedures names

// names keeps the first names that were sent, because names from users have no bound.
type names struct {
	kept  sync.Map
	count atomic.Int64
}

const namesMost = 256

// bounded returns name, or OtherCommand if name is empty or too many other names are kept.
func (n *names) bounded(name string) string {
	if _, known := n.kept.Load(name); known {
		return name
	}
	if name == "" || n.count.Load() >= namesMost || n.count.Add(1) > namesMost {
		return OtherCommand
	}
	n.kept.Store(name, nil)
	return name
}

// operationNames returns Operation.Command and Operation.Procedure. It keeps no reference to args.
func operationNames(cmd string, args []any) (name, procedure string) {
	call := command.Of(cmd, args)
	if call.Info == nil {
		name = strings.ToUpper(new(command.Call).ShownName(cmd))
		if name == "?" {
			name = ""
		}
		return modules.bounded(name), ""
	}
	name = command.Lookup(call.Name).Name // to the compiler, call.Name would be a reference to args
	procedure, named := call.Procedure()
	if named {
		procedure = procedures.bounded(procedure)
	}
	return name, procedure
}

// requestOperation describes one request.
func requestOperation(cmd string, args []any) Operation {
	name, procedure := operationNames(cmd, args)
	return Operation{Kind: OperationRequest, Command: name, Requests: 1, Procedure: procedure}
}

// operation describes several requests.
func operation(kind OperationKind, reqs []Request) Operation {
	op := Operation{Kind: kind, Requests: len(reqs)}
	for i, req := range reqs {
		name, procedure := operationNames(req.Cmd, req.Args)
		if i == 0 {
			op.Command, op.Procedure = name, procedure
		}
		if procedure != op.Procedure {
			op.Procedure = ""
		}
		if name != op.Command {
			op.Command, op.Procedure = "", ""
			break
		}
	}
	return op
}
