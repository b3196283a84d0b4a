// Package virtualtime runs tests of connections in a bubble of testing/synctest, where the clock
// stands still while somebody works.
package virtualtime

import (
	"runtime"
	"testing"
	"testing/synctest"
)

// Run is synctest.Test for a function that uses the library. Callers of the library wait for channels
// that are pooled. In a bubble, waiting for a channel from outside stops the clock for good, and outside
// the use of one from a bubble ends the process: Run empties the pools before and after f. It must not
// run in parallel with other tests.
func Run(t *testing.T, f func(*testing.T)) {
	t.Helper()
	emptyPools()
	defer emptyPools()
	synctest.Test(t, f)
}

func emptyPools() {
	runtime.GC() // moves what is pooled to where the next one frees it
	runtime.GC()
}
