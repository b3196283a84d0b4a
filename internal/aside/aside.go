// Package aside calls functions of the user's where a goroutine of the library must not
// end with them.
package aside

import "runtime/debug"

// Call calls f in a goroutine of its own, waits for its end, and reports whether it has
// returned. If f panics, panicked gets what it panicked with, and the stack as by
// [debug.Stack]; f may also end its goroutine, as by t.FailNow.
func Call(f func(), panicked func(v any, stack []byte)) (returned bool) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if v := recover(); v != nil {
				panicked(v, debug.Stack())
			}
		}()
		f()
		returned = true
	}()
	<-done
	return returned
}
