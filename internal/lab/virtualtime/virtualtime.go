// Package virtualtime runs tests of connections in a bubble of testing/synctest, where the clock
// stands still while any goroutine runs.
package virtualtime

import (
	"runtime"
	"testing"
	"testing/synctest"
)

// Run is synctest.Test for a function that uses the library. Callers of the library wait for channels
// that come from pools. If a bubble waits for a channel from outside, its clock stops forever; if a
// channel from a bubble is used outside, the process crashes. So Run empties the pools before and after
// f. It must not run in parallel with other tests.
func Run(t *testing.T, f func(*testing.T)) {
	t.Helper()
	emptyPools()
	defer emptyPools()
	synctest.Test(t, f)
}

func emptyPools() {
	runtime.GC() // the first collection moves pooled objects to the victim cache, and the next one frees them
	runtime.GC()
}
