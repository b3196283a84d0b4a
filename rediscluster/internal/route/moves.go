package route

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/joomcode/redispipe/rediscluster/internal/topology"
)

// Moves holds the moving slots. The keys of a moving slot go from one master to another, one by one. A
// replica does not redirect to a key that has gone, so these slots are read from their masters. A slot
// counts as moving as soon as a request gets ASK or TRYAGAIN or a node reports the move, and until the
// topology shows that the slot is stable. The zero value is ready to use.
type Moves struct {
	slots atomic.Pointer[topology.SlotSet] // nil if no slot is moving; a set never changes once it is stored
	mu    sync.Mutex                       // guards met, and is held while slots is replaced
	met   map[int]time.Time                // for each moving slot, the last time when Meet was called
}

// Has reports whether a slot is moving. It takes no lock.
func (m *Moves) Has(slot int) bool {
	slots := m.slots.Load()
	return slots != nil && slots.Has(slot)
}

// Meet records that a slot is moving now.
func (m *Moves) Meet(slot int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.met == nil {
		m.met = make(map[int]time.Time)
	}
	_, known := m.met[slot]
	m.met[slot] = time.Now()
	if !known {
		m.replaceLocked()
	}
}

// Settle ends the moves of the slots for which stable returns true, unless Meet was called for the slot
// after at.
func (m *Moves) Settle(at time.Time, stable func(slot int) bool) {
	if m.slots.Load() == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for slot, met := range m.met {
		if met.Before(at) && stable(slot) {
			delete(m.met, slot)
		}
	}
	m.replaceLocked()
}

func (m *Moves) replaceLocked() {
	if len(m.met) == 0 {
		m.slots.Store(nil)
		return
	}
	slots := new(topology.SlotSet)
	for slot := range m.met {
		slots.Add(uint16(slot))
	}
	m.slots.Store(slots)
}
