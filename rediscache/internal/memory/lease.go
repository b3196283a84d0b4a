package memory

import (
	"math"
	"sync/atomic"
	"time"
)

// Instant is a time in nanoseconds since the process started, on the monotonic clock.
type Instant int64

var began = time.Now()

// Now returns the present instant.
func Now() Instant { return Instant(time.Since(began)) }

// InstantOf returns the instant of a time.
func InstantOf(t time.Time) Instant { return Instant(t.Sub(began)) }

// Lease is the time until which replies that were read over a tracking socket may be served. When it is
// renewed, all changes that the server had reported until then have been handled. A lease ends with the
// socket, or when the node loses a slot; an ended lease is never renewed. The zero lease has expired. The
// owner of the socket may renew and end the lease at any time; entries only read it.
type Lease struct {
	until atomic.Int64 // an Instant, or over
}

// over is the value of until in a lease that has ended.
const over = math.MinInt64

// Until returns when the lease expires.
func (l *Lease) Until() Instant { return Instant(l.until.Load()) }

// Holds reports whether replies that were read under the lease may be served now.
func (l *Lease) Holds(now Instant) bool { return now < l.Until() }

// Renew extends the lease, unless it has ended.
func (l *Lease) Renew(until Instant) {
	for {
		old := l.until.Load()
		if old == over || old >= int64(until) || l.until.CompareAndSwap(old, int64(until)) {
			return
		}
	}
}

// End ends the lease. It may be called again, and on nil.
func (l *Lease) End() {
	if l != nil {
		l.until.Store(over)
	}
}

func (l *Lease) ended() bool { return l.until.Load() == over }
