// Package lifetime has the contexts of what outlives the call that makes it: connections,
// clusters, subscribers. It also counts the calls that a shutdown waits for.
package lifetime

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Closed is the cause with which a life ends that no context of the user's has ended: it says
// what has. For errors.Is it is context.Canceled, as the error of the context that has ended.
type Closed string

// ErrClosed is the cause with which a life ends that its user has closed.
const ErrClosed = Closed("Close was called")

// Error implements error.
func (c Closed) Error() string { return string(c) }

// Is is for errors.Is.
func (Closed) Is(target error) bool { return target == context.Canceled }

// Begin returns the context of what a constructor makes, given the constructor's. One that
// has a deadline bounds the making only, however it ends: programs write
//
//	ctx, cancel := context.WithTimeout(…)
//	defer cancel()
//
// in the function that calls the constructor and returns what that has made. One without a
// deadline ends the life, too. end is to be called with a Closed.
func Begin(given context.Context) (ctx context.Context, end context.CancelCauseFunc) {
	p, _ := given.(part)
	if bounded(given) {
		given = context.WithoutCancel(given)
	}
	return context.WithCancelCause(context.WithValue(given, wholeKey{}, p.goesOn))
}

// Making returns a context for a constructor that bounds the making only, whatever ctx is, and
// of which nobody is to be told when it ends.
func Making(ctx context.Context) context.Context { return making{ctx} }

type making struct{ context.Context }

func bounded(given context.Context) bool {
	if _, is := given.(making); is {
		return true
	}
	_, is := given.Deadline()
	return is
}

// Made is to be called when the constructor has made what lives with ctx. f is called, once and
// in a goroutine of its own, if given, the constructor's context, ends and ctx does not end with
// it.
func Made(ctx, given context.Context, f func(why error)) {
	if _, silent := given.(making); silent || !bounded(given) {
		return
	}
	stop := context.AfterFunc(given, func() {
		if ctx.Err() == nil {
			f(Reason(given))
		}
	})
	context.AfterFunc(ctx, func() { stop() })
}

// Within returns a context for the constructor of a part of a whole, such as a connection of a cluster,
// which may end while the whole goes on.
func Within(ctx context.Context, goesOn func() bool) context.Context { return part{ctx, goesOn} }

type part struct {
	context.Context
	goesOn func() bool
}

// wholeKey is the key of part.goesOn in the context of every life, be it nil: so no context of the
// user's is asked for it.
type wholeKey struct{}

// WholeGoesOn reports whether ctx, which comes from [Begin], is of a part of a whole that goes on.
func WholeGoesOn(ctx context.Context) bool {
	goesOn, _ := ctx.Value(wholeKey{}).(func() bool)
	return goesOn != nil && goesOn()
}

// IsPart reports whether ctx, which comes from [Begin], is of a part of a whole.
func IsPart(ctx context.Context) bool {
	goesOn, _ := ctx.Value(wholeKey{}).(func() bool)
	return goesOn != nil
}

// Reason returns why a context has ended, so that errors.Is finds both its Err and its Cause;
// nil if it has not ended. It has ended at its deadline, even if its timer is late: package
// net heeds the clock.
func Reason(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	switch deadline, is := ctx.Deadline(); {
	case err == nil && cause == nil && is && !time.Now().Before(deadline):
		return context.DeadlineExceeded
	case err == nil || errors.Is(cause, err):
		return cause
	}
	return fmt.Errorf("%w: %w", err, cause)
}

// EndedBy returns the Reason why the user's context has ended ctx; nil if ctx has not ended,
// or was Closed.
func EndedBy(ctx context.Context) error {
	if errors.As(context.Cause(ctx), new(Closed)) {
		return nil
	}
	return Reason(ctx)
}
