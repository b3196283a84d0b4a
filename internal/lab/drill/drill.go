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

// Halved skips a test of some seconds of processor time in half of the runs: on each day, make test
// runs one half of the tests that call Halved, and make race the other half. With InFull it skips
// none.
func Halved(t *testing.T) {
	t.Helper()
	if !InFull && raced(t.Name(), time.Now().YearDay()) != testing.Short() { // make race is short
		t.Skip("the other half's turn")
	}
}

// raced reports whether a test runs under the race detector on that day of the year.
func raced(name string, day int) bool {
	h := fnv.New64()
	fmt.Fprint(h, day, name)
	return h.Sum64()%2 == 0
}
