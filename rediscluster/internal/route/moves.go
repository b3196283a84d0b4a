package route

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/joomcode/redispipe/rediscluster/internal/topology"
)

// Moves are the slots on the move: their keys go from one master to another one by one. A replica
// may lack a key that has gone, and does not say where it is, so these slots are read from their
// masters. A slot is on the move from when a request has met ASK or TRYAGAIN, or a node has said
// so, until the topology says that it is stable. The zero value is ready.
type Moves struct {
	slots atomic.Pointer[topology.SlotSet] // nil if there are none; what it points to never changes
	mu    sync.Mutex                       // guards met, and is held while slots is replaced
	met   map[int]time.Time                // when it was last heard of each of the slots
}

// Has reports whether a slot is on the move. It takes no lock.
func (m *Moves) Has(slot int) bool {
	slots := m.slots.Load()
	return slots != nil && slots.Has(slot)
}

// Meet notes that a slot is on the move now.
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

// Settle ends the moves of the slots that were stable at a time. Those that were met later stay.
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
