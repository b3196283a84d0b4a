// Package pause has how long to wait before something is tried again, and how to wait.
package pause

import (
	"context"
	"math/rand/v2"
	"time"
)

// Doubled returns the pause before try n: first before try 0, twice as long before each
// further one, and most at the most.
func Doubled(first, most time.Duration, n int) time.Duration {
	for ; n > 0 && first < most; n-- {
		first *= 2
	}
	return min(first, most)
}

// Around draws from d/2 to 3d/2, so that those who failed together do not come again
// together.
func Around(d time.Duration) time.Duration {
	if d <= 0 {
		return 0
	}
	return d/2 + rand.N(d)
}

// For waits for d, no longer than until wake gets something, which it takes, or ctx is
// done. It reports whether it was woken; its error is that of ctx. A nil wake never wakes.
func For(ctx context.Context, d time.Duration, wake <-chan struct{}) (woken bool, err error) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-wake:
		woken = true
	case <-ctx.Done():
	}
	return woken, ctx.Err()
}
