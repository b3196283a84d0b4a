package dedicated

import (
	"sync"
	"time"
)

// limiter lets one event pass per limiterPause, and counts the others, so that a server
// that comes and goes is not reported for each request.
type limiter struct {
	mu   sync.Mutex // guards the rest
	last time.Time
	more int
}

const limiterPause = time.Second

// pass reports whether an event passes, and how many were left out since the last one.
func (l *limiter) pass(now time.Time) (more int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.last.IsZero() && now.Sub(l.last) < limiterPause {
		l.more++
		return 0, false
	}
	more, l.last, l.more = l.more, now, 0
	return more, true
}
