// Package usercall calls users' functions in a goroutine of their own, so that a panic or Goexit
// does not end a goroutine of the library.
package usercall

import (
	"context"
	"reflect"
	"runtime/debug"
)

// Call calls f in its own goroutine and waits for its end. If f panics, panicked is called with the
// value and the stack, as from [debug.Stack]. f may also end its goroutine, as t.FailNow does.
func Call(f func(), panicked func(v any, stack []byte)) {
	Until(context.Background(), func() struct{} {
		f()
		return struct{}{}
	}, nil, panicked)
}

// Until is [Call] with a result, but waits at most until ctx is done. If f returns in time, Until
// returns its result. A later result is passed to late, in the goroutine of f.
func Until[T any](ctx context.Context, f func() T, late func(T), panicked func(v any, stack []byte)) (v T, returned bool) {
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

// IsNil reports whether a user's value is nil or a nil pointer, whose methods may panic.
func IsNil(v any) bool {
	of := reflect.ValueOf(v)
	return v == nil || of.Kind() == reflect.Pointer && of.IsNil()
}
