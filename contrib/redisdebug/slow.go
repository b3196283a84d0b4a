package redisdebug

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/joomcode/redispipe/redis"
)

// slowMost is how many operations are kept.
const slowMost = 50

// Slow is an operation that took long, without its arguments.
type Slow struct {
	At       time.Time // when it ended
	Command  string    // empty if there were several
	Requests int
	Node     string
	Took     string
	Outcome  string
	// Stages says how long the batch took in each stage. Only some errors contain this.
	Stages string
}

// operations holds the last slow operations.
type operations struct {
	least time.Duration
	mu    sync.Mutex // guards kept
	kept  []Slow     // the last one first
}

var _ redis.Hook = (*Page)(nil)

// Before implements redis.Hook.
func (p *Page) Before(ctx context.Context, _ redis.Operation) context.Context { return ctx }

// After implements redis.Hook.
func (p *Page) After(_ context.Context, op redis.Operation, end redis.Completion) {
	if end.Duration < p.slow.least {
		return
	}
	slow := Slow{
		At: time.Now(), Command: op.Command, Requests: op.Requests, Node: end.Address,
		Took: round(end.Duration), Outcome: end.Outcome.String(),
	}
	if delay, ok := redis.DelayOf(end.Err); ok {
		slow.Stages = delay.String()
	}
	p.slow.keep(slow)
}

func (o *operations) keep(s Slow) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.kept = slices.Insert(o.kept, 0, s)
	o.kept = o.kept[:min(len(o.kept), slowMost)]
}

func (o *operations) last() []Slow {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.kept)
}
