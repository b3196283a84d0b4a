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

// Wake puts something into a channel with room for one, unless that is there already: so it ends
// a pause that waits for it, or the next one. It never waits.
func Wake(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Redial is the pauses of one goroutine that dials a socket again and again, beside the shared
// one of a connection.
type Redial struct{ failures int }

const (
	// A socket that lived for so long was of use: the next one is dialed at once.
	usefulLeast = 100 * time.Millisecond
	// Otherwise the pause is drawn at random up to a bound, which doubles from the first to the
	// longest: that of redisconn.Opts.ReconnectPause.
	redialFirst   = 20 * time.Millisecond
	redialLongest = 500 * time.Millisecond
)

// Wait pauses, until ctx is done at the longest, after an attempt that began at that time, and
// was connected or not.
func (r *Redial) Wait(ctx context.Context, began time.Time, connected bool) {
	if connected && time.Since(began) >= usefulLeast {
		r.failures = 0
		return
	}
	r.failures++
	_, _ = For(ctx, rand.N(Doubled(redialFirst, redialLongest, r.failures)), nil)
}
