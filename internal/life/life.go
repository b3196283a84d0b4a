// Package life has the contexts of what outlives the call that makes it: connections,
// clusters, subscribers.
package life

import (
	"context"
	"errors"
	"fmt"
)

// ErrClosed is the cause with which a life ends that its user has closed.
var ErrClosed = errors.New("closed")

// Begin returns the context of what a constructor makes, given the constructor's. One that
// has a deadline bounds the making only, however it ends: programs write
//
//	ctx, cancel := context.WithTimeout(…)
//	defer cancel()
//
// in the function that calls the constructor and returns what that has made. One without a
// deadline ends the life, too. end is to be called with ErrClosed.
func Begin(given context.Context) (ctx context.Context, end context.CancelCauseFunc) {
	if bounded(given) {
		given = context.WithoutCancel(given)
	}
	return context.WithCancelCause(given)
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

// Made is to be called when the constructor has made what lives with ctx. f is called, once
// and in a goroutine of its own, if the constructor's context ends before ctx, and does not
// end it.
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

// Reason returns why a context has ended, so that errors.Is finds both its Err and its Cause;
// nil if it has not ended.
func Reason(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if err == nil || errors.Is(cause, err) {
		return cause
	}
	return fmt.Errorf("%w: %w", err, cause)
}

// EndedBy returns the Reason why the user's context has ended ctx; nil if ctx has not ended,
// or ended with ErrClosed.
func EndedBy(ctx context.Context) error {
	if errors.Is(context.Cause(ctx), ErrClosed) {
		return nil
	}
	return Reason(ctx)
}

// Ended is the Reason why ctx has ended, for a logger: context.Canceled after ErrClosed.
func Ended(ctx context.Context) error {
	if errors.Is(context.Cause(ctx), ErrClosed) {
		return ctx.Err()
	}
	return context.Cause(ctx)
}
