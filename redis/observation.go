package redis

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/joomcode/redispipe/internal/command"
	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/hooks"
	"github.com/joomcode/redispipe/internal/wire"
)

// observer calls a hook.
type observer = hooks.Caller[Operation, Completion]

// observation is an operation that a hook is called around.
type observation struct {
	hooks.Observed[Operation, Completion]
}

// begin begins an operation.
func begin(ctx context.Context, by *observer, op Operation) observation {
	return observation{by.Begin(ctx, op)}
}

// end ends the operation of a caller that waits. If another hook's operation contains it, seen
// gets its place.
func (o *observation) end(res any, place wire.Place, seen *wire.Place) {
	if o.Hooked() {
		o.End(o.completed(res, place))
	}
	if seen != nil {
		*seen = place
	}
}

// endAside ends the operation of a future, in a goroutine of its own: the hook must not
// delay the goroutine that resolves the future.
func (o *observation) endAside(res any, place wire.Place) {
	if o.Hooked() {
		o.EndAside(o.completed(res, place))
	}
}

// completed describes the end of an operation.
func (o *observation) completed(res any, place wire.Place) Completion {
	end := Completion{Result: res, Duration: o.Duration(), Address: place.Address, Peer: place.Peer, Cached: place.Cached}
	results := []any{res}
	if o.Op.Kind == OperationMany {
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

// observations are those of one operation by several hooks.
type observations []observation

// observe begins an operation.
func observe(ctx context.Context, hooks []*observer, op Operation) (os observations) {
	for _, b := range hooks {
		os = append(os, begin(ctx, b, op))
	}
	return os
}

// end ends the operation.
func (os observations) end(res any, place wire.Place) {
	for _, o := range slices.Backward(os) {
		o.end(res, place, nil)
	}
}

// resultOf returns the result that a hook gets for an operation with results or an error.
func resultOf(results any, err error) any {
	if err != nil {
		return err
	}
	return results
}

// OtherCommand is the Operation.Command of a command that is not in the table, after
// 256 other such names were sent.
const OtherCommand = "_OTHER"

// modules are commands that are not in the table, such as those of server modules. At
// most modulesMost names are kept.
var modules struct {
	names sync.Map
	count atomic.Int64
}

const modulesMost = 256

// operationName is the command's name for a hook. It keeps no reference to args.
func operationName(cmd string, args []any) string {
	call := command.Of(cmd, args)
	if call.Info != nil {
		return command.Lookup(call.Name).Name // to the compiler, call.Name would be a reference to args
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

// requestOperation describes one request.
func requestOperation(cmd string, args []any) Operation {
	return Operation{OperationRequest, operationName(cmd, args), 1}
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
