// Package drill says when a long test runs.
package drill

import (
	"fmt"
	"hash/fnv"
	"os"
	"testing"
	"time"
)

// InFull says that every test runs, and each as long as it can: REDISPIPE_LONG is set.
var InFull = os.Getenv("REDISPIPE_LONG") != ""

// Halved lets make test and make race run one half each of the tests that call it, unless they run in
// full: each takes seconds of the processors. The halves change with the day.
func Halved(t *testing.T) {
	t.Helper()
	if !InFull && raced(t.Name(), time.Now().YearDay()) != testing.Short() { // make race is short
		t.Skip("the other half's turn")
	}
}

// raced reports whether a test has its turn under the race detector on that day.
func raced(name string, day int) bool {
	h := fnv.New64()
	fmt.Fprint(h, day, name)
	return h.Sum64()%2 == 0
}
