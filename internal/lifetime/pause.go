package lifetime

import (
	"context"
	"math/rand/v2"
	"time"
)

// DoubledPause returns the pause before try n: first before try 0, twice as long before each further
// try, but never longer than most.
func DoubledPause(first, most time.Duration, n int) time.Duration {
	for ; n > 0 && first < most; n-- {
		first *= 2
	}
	return min(first, most)
}

// Jitter returns a random duration from d/2 to 3d/2, so that callers that failed together do not
// retry together.
func Jitter(d time.Duration) time.Duration {
	if d <= 0 {
		return 0
	}
	return d/2 + rand.N(d)
}

// Pause waits for d, until ctx is done, or until it takes a value from wake. woken is set if it
// took a value. If ctx is done, Pause returns the error of ctx. wake may be nil.
func Pause(ctx context.Context, d time.Duration, wake <-chan struct{}) (woken bool, err error) {
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

// Wake puts a value into a channel with room for one, unless it is full. So it ends the current or
// the next pause that waits for the channel. It never blocks.
func Wake(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Redial computes the pauses of a goroutine that dials its own socket again whenever it is lost. A
// connection dials its shared socket without Redial.
type Redial struct{ failures int }

const (
	// usefulLeast is how long a useful socket lives, at least. After a useful socket, the next one
	// is dialed at once.
	usefulLeast = 100 * time.Millisecond
	// Otherwise the pause is random, up to a bound. The bound doubles from redialFirst to
	// redialLongest, which is the default of redisconn.Opts.ReconnectPause.
	redialFirst   = 20 * time.Millisecond
	redialLongest = 500 * time.Millisecond
)

// Wait pauses after an attempt, or until ctx is done. began is when the attempt began. connected is
// set if it succeeded.
func (r *Redial) Wait(ctx context.Context, began time.Time, connected bool) {
	if connected && time.Since(began) >= usefulLeast {
		r.failures = 0
		return
	}
	r.failures++
	_, _ = Pause(ctx, rand.N(DoubledPause(redialFirst, redialLongest, r.failures)), nil)
}
