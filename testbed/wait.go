package testbed

import (
	"fmt"
	"time"
)

// agreeEvery is the pause between two surveys of the nodes. Nodes gossip ten times a second.
const agreeEvery = 20 * time.Millisecond

// waitUntil calls missing until it returns nil. After timeout it returns the last error.
func waitUntil(timeout time.Duration, what string, missing func() error) error {
	var last error
	if waitFor(timeout, agreeEvery, func() bool { last = missing(); return last == nil }) {
		return nil
	}
	return fmt.Errorf("testbed: no %s in %v: %w", what, timeout, last)
}

// waitFor calls cond until it returns true. It returns false after timeout.
func waitFor(timeout, every time.Duration, cond func() bool) bool {
	deadline := time.Now().Add(timeout)
	for !cond() {
		if time.Now().After(deadline) {
			return false
		}
		time.Sleep(every)
	}
	return true
}
