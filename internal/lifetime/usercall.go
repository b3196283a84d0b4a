package lifetime

import (
	"context"
	"runtime/debug"
)

// CallUser calls f, a user's function, in a new goroutine, and waits until f or the goroutine ends.
// So no goroutine of the library ends if f panics, or ends its goroutine as t.FailNow does. After a
// panic, CallUser calls panicked with the panic's value and the stack, which is from [debug.Stack].
func CallUser(f func(), panicked func(v any, stack []byte)) {
	CallUserUntil(context.Background(), func() struct{} {
		f()
		return struct{}{}
	}, nil, panicked)
}

// CallUserUntil is [CallUser] for a function with a result, but waits at most until ctx is done. If f
// returns before that, CallUserUntil returns its result. If f returns later, its goroutine passes the
// result to late.
func CallUserUntil[T any](ctx context.Context, f func() T, late func(T), panicked func(v any, stack []byte)) (v T, returned bool) {
	results := make(chan T) // unbuffered: either the caller gets the result, or late does
	go func() {
		defer close(results)
		defer func() {
			if v := recover(); v != nil {
				panicked(v, debug.Stack())
			}
		}()
		v := f()
		select {
		case results <- v:
		case <-ctx.Done():
			late(v)
		}
	}()
	select {
	case v, returned = <-results:
	case <-ctx.Done():
	}
	return v, returned
}
