package route

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/joomcode/redispipe/rediscluster/internal/topology"
)

// Moves are the moving slots, whose keys go from one master to another one by one. A replica may lack a
// key that has gone, and does not say where it is, so these slots are read from their masters. A slot
// counts as moving from the time when a request gets ASK or TRYAGAIN, or a node reports the move, until
// the topology shows that it is stable. The zero value is ready to use.
type Moves struct {
	slots atomic.Pointer[topology.SlotSet] // nil if there are none; what it points to never changes
	mu    sync.Mutex                       // guards met, and is held while slots is replaced
	met   map[int]time.Time                // when a reply or a node last mentioned each slot
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

// Settle ends the moves of the slots that were stable at the time at. Later calls of Meet still count.
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
