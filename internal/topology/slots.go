package topology

import "github.com/joomcode/redispipe/internal/slot"

// SlotSet is a set of slots.
type SlotSet [slot.Count / 64]uint64

// Add adds a slot.
func (s *SlotSet) Add(slot uint16) { s[slot/64] |= 1 << (slot % 64) }

func (s *SlotSet) remove(slot uint16) { s[slot/64] &^= 1 << (slot % 64) }

// Has reports whether a slot is in the set.
func (s *SlotSet) Has(slot int) bool { return s[slot/64]>>(slot%64)&1 != 0 }
