package dial

import (
	"context"
	"reflect"
	"runtime"
)

// provided is the result of a provider.
type provided struct {
	cr  Credentials
	err error
}

// provide calls the provider. Asks finds out whether it was called by the provider by looking for
// provide on its own stack.
func (d *Dialer) provide(ctx context.Context) (p provided) {
	d.asking.Add(1)
	defer d.asking.Add(-1)
	p.cr, p.err = d.Provider(context.WithValue(ctx, askedBy{d}, true))
	return p
}

// askedBy is the key of a value in the context that a Dialer passes to its provider.
type askedBy struct{ d *Dialer }

// Asks reports whether the Dialer's provider is calling it, in the provider's goroutine or with the
// provider's context.
func (d *Dialer) Asks(ctx context.Context) bool {
	return ctx.Value(askedBy{d}) != nil || d.asking.Load() > 0 && provides()
}

var provideName = runtime.FuncForPC(reflect.ValueOf((*Dialer).provide).Pointer()).Name()

// provides reports whether provide is on the stack of the calling goroutine.
func provides() bool {
	callers := make([]uintptr, 64)
	for skip := 0; ; skip += len(callers) {
		n := runtime.Callers(skip, callers)
		frames := runtime.CallersFrames(callers[:n])
		for more := n > 0; more; {
			var caller runtime.Frame
			if caller, more = frames.Next(); caller.Function == provideName {
				return true
			}
		}
		if n < len(callers) {
			return false
		}
	}
}
