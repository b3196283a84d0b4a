package histogram

import (
	"sync"
	"time"
)

// Times counts durations that are rare, such as those of dialing. The zero value is empty. It is safe for concurrent
// use.
type Times struct {
	mu    sync.Mutex // guards taken
	taken Sparse
}

// Add counts a duration.
func (t *Times) Add(took time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.taken.Add(took, 1)
}

// Histogram returns a copy.
func (t *Times) Histogram() *Histogram {
	t.mu.Lock()
	defer t.mu.Unlock()
	h := t.taken.Histogram()
	return &h
}
