package conntest

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/joomcode/redispipe/redis"
)

// Outcome is a future that keeps its result. It panics if it is resolved twice.
type Outcome struct {
	Result    chan any
	cancelled atomic.Bool
}

// NewOutcome returns an unresolved future.
func NewOutcome() *Outcome { return &Outcome{Result: make(chan any, 1)} }

// Resolve implements redis.Future.
func (o *Outcome) Resolve(res any, _ uint64) {
	select {
	case o.Result <- res:
	default:
		panic("resolved twice")
	}
}

// Cancel makes Cancelled return an error.
func (o *Outcome) Cancel() { o.cancelled.Store(true) }

// Cancelled implements redis.Future.
func (o *Outcome) Cancelled() error { return whyCancelled(&o.cancelled) }

func whyCancelled(cancelled *atomic.Bool) error {
	if cancelled.Load() {
		return context.Canceled
	}
	return nil
}

// Wait returns the result.
func (o *Outcome) Wait(t testing.TB) any {
	t.Helper()
	select {
	case res := <-o.Result:
		return res
	case <-time.After(Patience):
		t.Fatal("a request was lost")
		return nil
	}
}

// SendTo sends a request and returns its future.
func SendTo(s redis.Sender, cmd string, args ...any) *Outcome {
	o := NewOutcome()
	s.Send(redis.Req(cmd, args...), o, 0)
	return o
}

// Outcomes is a future for the requests 0 to want-1. It panics if one is resolved twice.
type Outcomes struct {
	cancelled atomic.Bool
	mu        sync.Mutex // guards results and order
	results   map[uint64]any
	order     []uint64
	done      chan struct{}
	want      int
}

// NewOutcomes returns a future for want requests.
func NewOutcomes(want int) *Outcomes {
	return &Outcomes{results: map[uint64]any{}, done: make(chan struct{}), want: want}
}

// Resolve implements redis.Future.
func (o *Outcomes) Resolve(res any, n uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, twice := o.results[n]; twice {
		panic("resolved twice")
	}
	o.results[n] = res
	o.order = append(o.order, n)
	if len(o.results) == o.want {
		close(o.done)
	}
}

// Cancel makes Cancelled return an error.
func (o *Outcomes) Cancel() { o.cancelled.Store(true) }

// Cancelled implements redis.Future.
func (o *Outcomes) Cancelled() error { return whyCancelled(&o.cancelled) }

// Order returns the numbers of the resolved requests, in the order in which they were resolved.
func (o *Outcomes) Order() []uint64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.order)
}

// Wait returns the results in the order of the requests.
func (o *Outcomes) Wait(t testing.TB) []any {
	t.Helper()
	select {
	case <-o.done:
	case <-time.After(Patience):
		t.Fatalf("%d of %d requests were lost", o.want-len(o.Order()), o.want)
	}
	results := make([]any, o.want)
	for n, res := range o.results {
		results[n] = res
	}
	return results
}
