package lifetime

import (
	"context"
	"sync/atomic"
)

// Turns divides time into turns. Each event ends a turn and begins the next one. It is safe for
// concurrent use.
type Turns struct {
	life    context.Context
	present atomic.Pointer[turn]
}

// turn is the time from one event to the next. ctx ends with it.
type turn struct {
	ctx context.Context
	end context.CancelFunc
}

// NewTurns returns a Turns. If life ends, the current turn ends, too.
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
