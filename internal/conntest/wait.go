package conntest

import (
	"testing"
	"time"
)

// Patience bounds every wait of a test. It is long, because no test depends on its length.
const Patience = time.Minute

// Eventually waits until other goroutines have made condition true.
func Eventually(t testing.TB, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(Patience); !condition(); time.Sleep(100 * time.Microsecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it did not happen: %s", what)
		}
	}
}

// Await returns the next value from a channel, and fails the test if none comes.
func Await[T any](t testing.TB, what string, from <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-from:
	case <-time.After(Patience):
		t.Fatalf("it did not come: %s", what)
	}
	return v
}
