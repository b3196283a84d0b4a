// Package usercall calls functions of the user's where a goroutine of the library must not
// end with them.
package usercall

import (
	"context"
	"runtime/debug"
)

// Call calls f in a goroutine of its own, and waits for its end. If f panics, panicked gets what
// it panicked with, and the stack as by [debug.Stack]; f may also end its goroutine, as by
// t.FailNow.
func Call(f func(), panicked func(v any, stack []byte)) {
	Until(context.Background(), func() struct{} {
		f()
		return struct{}{}
	}, nil, panicked)
}

// Until is [Call] that waits until ctx is done at the longest, and returns what f has
// returned, if it has. What f returns later belongs to late, which is called in f's goroutine; that
// ends with it.
func Until[T any](ctx context.Context, f func() T, late func(T), panicked func(v any, stack []byte)) (v T, returned bool) {
	results := make(chan T) // without a buffer: either the caller has the result, or late
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
