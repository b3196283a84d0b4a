// Package lifetime has the contexts of things that outlive the call that makes them: connections,
// clusters, subscribers. It also has the pauses between their attempts, counts the calls that a
// shutdown waits for, and calls users' functions, which may panic or not return in time.
package lifetime

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Closed is the reason why a lifetime has ended, unless a user's context has ended it. errors.Is
// treats it as context.Canceled, the Err of the ended context.
type Closed string

// ErrClosed is the cause if the user has called Close.
const ErrClosed = Closed("Close was called")

// Error implements error.
func (c Closed) Error() string { return string(c) }

// Is is called by errors.Is: a Closed matches context.Canceled.
func (Closed) Is(target error) bool { return target == context.Canceled }

// Begin returns a context for the object that a constructor makes. given is the context that was
// passed to the constructor. If given has a deadline, it bounds only the call of the constructor,
// even if it is cancelled, because programs write
//
//	ctx, cancel := context.WithTimeout(…)
//	defer cancel()
//
// in a function that calls the constructor and returns its result. If given has no deadline, its
// end also ends the returned context. Call end with a Closed to end that context.
func Begin(given context.Context) (ctx context.Context, end context.CancelCauseFunc) {
	p, _ := given.(part)
	if bounded(given) {
		given = context.WithoutCancel(given)
	}
	return context.WithCancelCause(context.WithValue(given, wholeKey{}, p.goesOn))
}

// Making returns a context for a constructor that bounds only the construction, whether or not ctx
// has a deadline. Made does not report its end.
func Making(ctx context.Context) context.Context { return making{ctx} }

type making struct{ context.Context }

func bounded(given context.Context) bool {
	if _, is := given.(making); is {
		return true
	}
	_, is := given.Deadline()
	return is
}

// Made must be called when the constructor has made the object that lives with ctx. If given, the
// constructor's context, ends without ending ctx, Made calls f once, in its own goroutine.
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

// Ended returns a context that has ended with a cause.
func Ended(cause error) context.Context {
	ctx, end := context.WithCancelCause(context.Background())
	end(cause)
	return ctx
}

// Within returns a context for the constructor of a part of a whole, such as a connection of a
// cluster. goesOn reports whether the whole continues: a part may end before the whole does.
func Within(ctx context.Context, goesOn func() bool) context.Context { return part{ctx, goesOn} }

type part struct {
	context.Context
	goesOn func() bool
}

// wholeKey is the key of part.goesOn in each context of Begin. It is set even if the value is nil,
// so that no lookup reaches a user's context.
type wholeKey struct{}

// WholeGoesOn reports whether ctx, a context from [Begin], belongs to a part of a whole that
// continues, as a connection is a part of a cluster.
func WholeGoesOn(ctx context.Context) bool {
	goesOn, _ := ctx.Value(wholeKey{}).(func() bool)
	return goesOn != nil && goesOn()
}

// IsPart reports whether ctx, a context from [Begin], belongs to a part of a whole.
func IsPart(ctx context.Context) bool {
	goesOn, _ := ctx.Value(wholeKey{}).(func() bool)
	return goesOn != nil
}

// Reason returns why a context has ended, or nil if it has not. errors.Is finds both its Err and
// its Cause. A context counts as ended at its deadline even if its timer is late, because package
// net looks at the clock.
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

// EndedBy returns the Reason if a user's context has ended ctx. It returns nil if ctx has not
// ended, or if it ended with a Closed.
func EndedBy(ctx context.Context) error {
	if errors.As(context.Cause(ctx), new(Closed)) {
		return nil
	}
	return Reason(ctx)
}
