package pause

import (
	"context"
	"sync/atomic"
)

// Turns are the times between events of one kind that follow each other. It is safe for
// concurrent use.
type Turns struct {
	life    context.Context
	present atomic.Pointer[turn]
}

// turn is the time until one of the events: ctx ends with it.
type turn struct {
	ctx context.Context
	end context.CancelFunc
}

// NewTurns returns turns of which the last one ends with life.
func NewTurns(life context.Context) *Turns {
	t := &Turns{life: life}
	t.Next()
	return t
}

// Next begins another turn, and returns a function that ends the one before.
func (t *Turns) Next() (end func()) {
	ctx, cancel := context.WithCancel(t.life)
	if before := t.present.Swap(&turn{ctx, cancel}); before != nil {
		return before.end
	}
	return nil
}

// After has f called, in a goroutine of its own, when the present turn ends.
func (t *Turns) After(f func()) { context.AfterFunc(t.present.Load().ctx, f) }
