package redis

import (
	"context"
	"log"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/send"
)

// observer calls a hook, and makes sure that the hook can harm only its own operation.
type observer struct {
	Hook   Hook
	panics sync.Once
	calls
}

// observation is a running operation for which After must be called. It is empty if Before
// was not called.
type observation struct {
	by    *observer
	ctx   context.Context
	op    Operation
	start time.Time
}

// inHook is the key of a value in the context that an observer passes to its hook.
type inHook struct{ by *observer }

// begin calls Before, unless the hook itself sends op or too many calls are running.
func begin(ctx context.Context, by *observer, op Operation) (o observation) {
	if ctx.Value(inHook{by}) != nil || !by.enter() {
		return o
	}
	o = observation{op: op}
	defer by.leave()
	defer by.recovered()
	inner := context.WithValue(ctx, inHook{by}, true)
	if o.ctx = by.Hook.Before(inner, op); o.ctx == nil {
		o.ctx = inner
	}
	o.by, o.start = by, time.Now() // not reached if Before panics
	return o
}

// end ends the operation of a caller that waits. place is the server that answered. If seen is not
// nil, end also sets it to place, for the hook of an operation that contains this one.
func (o *observation) end(res any, place send.Server, seen *send.Server) {
	if o.by != nil {
		o.after(o.completed(res, place))
	}
	if seen != nil {
		*seen = place
	}
}

// endLater ends the operation of a future in a separate goroutine, because the hook must not delay the
// goroutine that resolves the future. The goroutine starts as soon as enter allows it.
func (o *observation) endLater(res any, place send.Server) {
	if o.by != nil {
		end := o.completed(res, place)
		o.by.start(func() { o.callAfter(end) })
	}
}

// after calls After of the hook in the current goroutine, even if too many calls of hooks are running.
func (o *observation) after(end Completion) {
	if o.by != nil {
		o.by.running.Add(1)
		defer o.by.leave()
		o.callAfter(end)
	}
}

func (o *observation) callAfter(end Completion) {
	defer o.by.recovered()
	o.by.Hook.After(o.ctx, o.op, end)
}

func (b *observer) recovered() {
	if v := recover(); v != nil {
		b.panics.Do(func() { log.Printf("redispipe: a hook panicked: %v\n%s", v, debug.Stack()) })
	}
}

// completed describes the end of an operation.
func (o *observation) completed(res any, place send.Server) Completion {
	end := Completion{Result: res, Duration: time.Since(o.start), Address: place.Address, Peer: place.Peer, Cached: place.Cached}
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
	if end.Address == "" {
		end.Address = errs.AddressOf(errs.AsErrorx(end.Err))
	}
	return end
}

// observations has the observation of one operation for each hook.
type observations []observation

// observe begins an operation.
func observe(ctx context.Context, hooks []*observer, op Operation) (os observations) {
	for _, b := range hooks {
		os = append(os, begin(ctx, b, op))
	}
	return os
}

// end ends the operation.
func (os observations) end(res any, place send.Server) {
	for _, o := range slices.Backward(os) {
		o.end(res, place, nil)
	}
}

// resultOf returns the result of an operation for its hooks: the results, or err.
func resultOf(results any, err error) any {
	if err != nil {
		return err
	}
	return results
}
