package limit

import (
	"math"
	"sync"
	"time"
)

// localKeys bounds the keys in the memory of a process: some 10 MB.
const localKeys = 65536

// local counts in the memory of the process, in the same way as the script smooth on the server.
type local struct {
	perNano float64 // requests that may pass in a nanosecond
	burst   float64

	mu      sync.Mutex // guards the fields below
	buckets map[string]bucket
}

// bucket is the state of a key. Its level falls by perNano in each nanosecond.
type bucket struct {
	level float64
	at    time.Time
}

// newLocal returns a counter for one of several processes.
func newLocal(rate Rate, processes int) *local {
	return &local{
		perNano: float64(rate.Count) / float64(rate.Per) / float64(processes),
		burst:   max(1, math.Floor(float64(rate.Burst)/float64(processes))),
		buckets: map[string]bucket{},
	}
}

// take decides whether a take passes.
func (l *local) take(now time.Time, take Take) Decision {
	l.mu.Lock()
	defer l.mu.Unlock()
	level, n := l.level(now, l.buckets[take.Key]), float64(take.N)
	d := Decision{Allowed: level+n <= l.burst+1e-9 && l.roomLocked(now, take.Key)}
	if d.Allowed {
		level += n
		if take.N > 0 {
			l.buckets[take.Key] = bucket{level, now}
		}
	} else {
		d.RetryAfter = l.after(max(1, level+n-l.burst))
	}
	d.Remaining, d.ResetAfter = int(max(0, l.burst-level+1e-9)), l.after(level)
	return d
}

// level returns the level of a bucket now.
func (l *local) level(now time.Time, b bucket) float64 {
	return max(0, b.level-float64(now.Sub(b.at))*l.perNano)
}

// after returns the time in which a bucket loses n.
func (l *local) after(n float64) time.Duration {
	return time.Duration(min(math.Ceil(n/l.perNano), float64(longest)))
}

// roomLocked reports whether there is room for a key, after it has removed empty buckets if there was none.
func (l *local) roomLocked(now time.Time, key string) bool {
	if _, known := l.buckets[key]; known || len(l.buckets) < localKeys {
		return true
	}
	for k, b := range l.buckets {
		if l.level(now, b) == 0 {
			delete(l.buckets, k)
		}
	}
	return len(l.buckets) < localKeys
}
