package lease

import (
	"context"
	"sync"
)

// Turns lets only one goroutine of the process at a time wait for a key; the others queue up in order. So when a key
// is released, it wakes one goroutine of each process. The zero value is ready to use.
type Turns struct {
	mu    sync.Mutex // guards the fields below
	turns map[string]*turn
}

type turn struct {
	users int           // goroutines that have or await the turn
	taken chan struct{} // holds one value while a goroutine has the turn
}

// Take waits for the turn of a key. Call end to give it to the next.
func (t *Turns) Take(ctx context.Context, key string) (end func(), err error) {
	mine := t.enter(key)
	select {
	case mine.taken <- struct{}{}:
		return func() {
			<-mine.taken
			t.leave(key, mine)
		}, nil
	case <-ctx.Done():
		t.leave(key, mine)
		return nil, context.Cause(ctx)
	}
}

func (t *Turns) enter(key string) *turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.turns == nil {
		t.turns = map[string]*turn{}
	}
	mine := t.turns[key]
	if mine == nil {
		mine = &turn{taken: make(chan struct{}, 1)}
		t.turns[key] = mine
	}
	mine.users++
	return mine
}

func (t *Turns) leave(key string, mine *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if mine.users--; mine.users == 0 {
		delete(t.turns, key)
	}
}
