package torture

import (
	"context"
	"slices"
	"sync"
	"time"
)

// pulse records when the process ran. A stopped process has read nothing from servers, although its
// clock went on.
type pulse struct {
	mu    sync.Mutex // guards beats
	beats []time.Time
}

// beat is the shortest time between two records of a pulse.
const beat = 10 * time.Millisecond

// run notes the time until ctx is done.
func (p *pulse) run(ctx context.Context) {
	for ctx.Err() == nil {
		p.mu.Lock()
		p.beats = append(p.beats, time.Now())
		p.mu.Unlock()
		time.Sleep(beat)
	}
}

// before returns a time such that the process has run for d between that time and t, or the zero
// time if it has not run that long.
func (p *pulse) before(t time.Time, d time.Duration) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	until, _ := slices.BinarySearchFunc(p.beats, t, time.Time.Compare)
	if since := until - 1 - int(d/beat); since >= 0 {
		return p.beats[since]
	}
	return time.Time{}
}
