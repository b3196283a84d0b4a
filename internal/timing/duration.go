package timing

import (
	"math"
	"time"
)

// Plus adds durations that are not negative, up to the longest that there is: users say
// "never" with it.
func Plus(d, e time.Duration) time.Duration {
	if d > math.MaxInt64-e {
		return math.MaxInt64
	}
	return d + e
}

// Times multiplies, up to the longest duration that there is.
func Times(d, n time.Duration) time.Duration {
	if d > math.MaxInt64/n {
		return math.MaxInt64
	}
	return d * n
}

// Until returns the time from now, which Clock returned, until t.
func Until(t time.Time, now time.Duration) time.Duration { return t.Sub(epoch) - now }
