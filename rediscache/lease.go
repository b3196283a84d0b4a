package rediscache

import (
	"math"
	"sync/atomic"
	"time"
)

// instant is nanoseconds since the process began, by a clock that nobody sets.
type instant int64

var began = time.Now()

func now() instant { return instant(time.Since(began)) }

func instantOf(t time.Time) instant { return instant(t.Sub(began)) }

// lease says until when replies that were read on a tracking socket are known to hold: all that
// the server had told of changes by the time that until is made of has been heeded. It ends
// with the socket, or when the node does not answer for its keys any more, and is then never
// renewed. The zero lease has run out.
type lease struct {
	until atomic.Int64 // an instant, or over
}

// over is the until of a lease that has ended.
const over = math.MinInt64

// holds reports whether what was read under the lease may be served now.
func (l *lease) holds(now instant) bool { return int64(now) < l.until.Load() }

// renew extends the lease, unless it has ended.
func (l *lease) renew(until instant) {
	for {
		old := l.until.Load()
		if old == over || old >= int64(until) || l.until.CompareAndSwap(old, int64(until)) {
			return
		}
	}
}

// end ends the lease. It may be called again, and on nil.
func (l *lease) end() {
	if l != nil {
		l.until.Store(over)
	}
}

func (l *lease) ended() bool { return l.until.Load() == over }
