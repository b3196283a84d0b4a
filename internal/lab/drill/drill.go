// Package drill decides when long tests run.
package drill

import (
	"fmt"
	"hash/fnv"
	"os"
	"testing"
	"time"
)

// InFull is set if REDISPIPE_LONG is set. Then every test runs, and each as long as it can.
var InFull = os.Getenv("REDISPIPE_LONG") != ""

// Rotate skips a test of some seconds of processor time in two of three runs: on each day, make test
// runs a third of the tests that call Rotate, make race another third, and only make nightly the
// rest. With InFull it skips none.
func Rotate(t *testing.T) {
	t.Helper()
	mode := inTest
	if testing.Short() { // make race is short
		mode = inRace
	}
	if !InFull && turn(t.Name(), time.Now().YearDay()) != mode {
		t.Skip("long tests take turns by the day; REDISPIPE_LONG=1 runs all of them")
	}
}

// Two of the numbers that turn returns. With another one, only make nightly runs the test.
const (
	inTest = 0
	inRace = 1
	turns  = 3
)

// turn returns a number below turns, which says which target runs a test on that day of the year.
func turn(name string, day int) int {
	h := fnv.New64()
	fmt.Fprint(h, day, name)
	return int(h.Sum64() % turns)
}
