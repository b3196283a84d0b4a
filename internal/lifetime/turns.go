package lifetime

import (
	"context"
	"sync/atomic"
)

// Turns divide time at events of one kind: a turn lasts from one event to the next. It is safe for
// concurrent use.
type Turns struct {
	life    context.Context
	present atomic.Pointer[turn]
}

// turn is the time until the next event, which ends ctx.
type turn struct {
	ctx context.Context
	end context.CancelFunc
}

// NewTurns returns Turns whose last turn ends with life.
func NewTurns(life context.Context) *Turns {
	t := &Turns{life: life}
	t.Next()
	return t
}

// Next begins another turn, and returns a function that ends the previous one.
func (t *Turns) Next() (end func()) {
	ctx, cancel := context.WithCancel(t.life)
	if before := t.present.Swap(&turn{ctx, cancel}); before != nil {
		return before.end
	}
	return nil
}

// After calls f in its own goroutine when the current turn ends.
func (t *Turns) After(f func()) { context.AfterFunc(t.present.Load().ctx, f) }
