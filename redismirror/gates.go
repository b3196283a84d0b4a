package redismirror

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/joomcode/redispipe/internal/lifetime"
	"github.com/joomcode/redispipe/internal/slot"
	"github.com/joomcode/redispipe/redis"
)

// gate holds which database decides for the keys of a slot, and counts their writes in flight.
type gate struct {
	inFlight atomic.Int32  // writes that have not ended on both databases
	begun    atomic.Uint32 // writes so far
	closed   atomic.Bool   // writes wait
	moved    atomic.Bool   // the new database decides
}

// gates holds a gate for each slot and, at slot.Count, one for requests without keys. A write enters the gates
// of its keys, and leaves them when it has ended on both databases. So when a gate is closed and no write is
// inside, both databases have run the same writes of the slot, in the same order.
type gates struct {
	of      [slot.Count + 1]gate
	emptied chan struct{} // signals that a closed gate may be empty; has room for one

	mu   sync.Mutex   // guards held
	held []*operation // writes that wait for a closed gate, in their order
}

// heldMost bounds the writes that wait for closed gates.
const heldMost = 1 << 16

// enter makes an operation enter its gates and returns true. If one of them is closed, enter returns false,
// and openAll will send the operation; if too many operations already wait, enter refuses this one.
func (g *gates) enter(o *operation) bool {
	for !g.admit(o) {
		g.mu.Lock()
		closed := g.closed(o)
		full := closed && len(g.held) >= heldMost
		if closed && !full {
			g.held = append(g.held, o)
		}
		g.mu.Unlock()
		if full {
			o.refuse(redis.ErrQueueFull.New("%d writes wait for keys that are cut over or copied", heldMost))
			return false
		}
		if caller := o.Caller(); closed && caller != nil {
			caller.Listen() // its context may end before the gates open
		}
		if closed {
			return false
		}
	}
	return true
}

// count counts the operation as inside its gates, even if they are closed.
func (g *gates) count(o *operation) {
	o.inside = true
	for _, s := range o.slots {
		g.of[s].inFlight.Add(1)
		g.of[s].begun.Add(1)
	}
}

// admit counts the operation as inside its gates, unless one of them is closed.
func (g *gates) admit(o *operation) bool {
	g.count(o)
	if g.closed(o) {
		g.leave(o.mirrored)
		return false
	}
	return true
}

// leave counts the operation as no longer inside its gates.
func (g *gates) leave(o *mirrored) {
	if !o.inside {
		return
	}
	o.inside = false
	for _, s := range o.slots {
		if g.of[s].inFlight.Add(-1) == 0 && g.of[s].closed.Load() {
			lifetime.Wake(g.emptied)
		}
	}
}

// closed reports whether one of an operation's gates is closed.
func (g *gates) closed(o *operation) bool {
	for _, s := range o.slots {
		if g.of[s].closed.Load() {
			return true
		}
	}
	return false
}

// closeAll closes gates, and waits until they are empty or ctx is done. In both cases the caller must open
// them again.
func (g *gates) closeAll(ctx context.Context, slots []int) error {
	for _, s := range slots {
		g.of[s].closed.Store(true)
	}
	for _, s := range slots {
		for g.of[s].inFlight.Load() > 0 {
			select {
			case <-g.emptied:
			case <-ctx.Done():
				return lifetime.Reason(ctx)
			}
		}
	}
	return nil
}

// openAll calls send with each waiting write, and opens the gates.
func (g *gates) openAll(slots []int, send func(*operation)) {
	for {
		g.mu.Lock()
		held := g.held
		if g.held = nil; len(held) == 0 {
			for _, s := range slots {
				g.of[s].closed.Store(false)
			}
			g.mu.Unlock()
			return
		}
		g.mu.Unlock()
		for _, o := range held {
			g.count(o)
			send(o)
		}
	}
}

// side returns the index of the database that decides for a slot.
func (g *gates) side(s int) int {
	if g.of[s].moved.Load() {
		return 1
	}
	return 0
}

// sideOf returns the index of the database that decides for all of the slots, or false if each database
// decides for some of them.
func (g *gates) sideOf(slots []int) (side int, one bool) {
	side = g.side(slots[0])
	for _, s := range slots[1:] {
		if g.side(s) != side {
			return 0, false
		}
	}
	return side, true
}

// version returns a number that changes with each write of the slots. quiet is set if no such write is in
// flight.
func (g *gates) version(slots []int) (n uint64, quiet bool) {
	quiet = true
	for _, s := range slots {
		quiet = quiet && g.of[s].inFlight.Load() == 0
		n += uint64(g.of[s].begun.Load())
	}
	return n, quiet
}
