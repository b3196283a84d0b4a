package dedicated

import (
	"sync"
	"time"
)

// sparse lets one event of a kind pass in each sparseLeast, and counts the others: a
// server that comes and goes must not be told of for each request.
type sparse struct {
	mu   sync.Mutex // guards the rest
	last time.Time
	more int
}

const sparseLeast = time.Second

// pass reports whether an event passes, and how many have not since the last one.
func (s *sparse) pass(now time.Time) (more int, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.last.IsZero() && now.Sub(s.last) < sparseLeast {
		s.more++
		return 0, false
	}
	more, s.last, s.more = s.more, now, 0
	return more, true
}
