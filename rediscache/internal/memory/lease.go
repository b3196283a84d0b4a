package memory

import (
	"math"
	"sync/atomic"
	"time"
)

// Instant is nanoseconds since the process began, by a clock that nobody sets.
type Instant int64

var began = time.Now()

// Now returns the instant that it is.
func Now() Instant { return Instant(time.Since(began)) }

// InstantOf returns the instant of a time.
func InstantOf(t time.Time) Instant { return Instant(t.Sub(began)) }

// Lease says until when replies that were read on a tracking socket are known to hold: all that
// the server had told of changes by the time that the end of the lease is made of has been heeded.
// It ends with the socket, or when the node does not answer for its keys any more, and is then
// never renewed. The zero lease has run out. Who looks after the socket renews and ends it, at any
// time; entries only look at it.
type Lease struct {
	until atomic.Int64 // an Instant, or over
}

// over is the until of a lease that has ended.
const over = math.MinInt64

// Until returns when the lease runs out.
func (l *Lease) Until() Instant { return Instant(l.until.Load()) }

// Holds reports whether what was read under the lease may be served now.
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
