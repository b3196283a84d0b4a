package torture

import (
	"context"
	"slices"
	"sync"
	"time"
)

// pulse records when this process ran. While a process is stopped, it reads nothing from servers,
// although its clock advances.
type pulse struct {
	mu    sync.Mutex // guards beats
	beats []time.Time
}

// beat is the shortest time between two records of a pulse.
const beat = 10 * time.Millisecond

// run records the time until ctx is done.
func (p *pulse) run(ctx context.Context) {
	for ctx.Err() == nil {
		p.mu.Lock()
		p.beats = append(p.beats, time.Now())
		p.mu.Unlock()
		time.Sleep(beat)
	}
}

// before returns a time such that the process has run for d between that time and t. If it has not
// run for that long, before returns the zero time.
func (p *pulse) before(t time.Time, d time.Duration) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	until, _ := slices.BinarySearchFunc(p.beats, t, time.Time.Compare)
	if since := until - 1 - int(d/beat); since >= 0 {
		return p.beats[since]
	}
	return time.Time{}
}
