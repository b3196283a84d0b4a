package memory

// victimLocked returns the entry to evict, or nil if there is none.
func (s *shard) victimLocked() *entry {
	e := s.hand
	for {
		if e == nil {
			e = s.oldest
		}
		if e == nil {
			return nil
		}
		if !e.visited.Swap(false) {
			s.hand = e.newer
			return e
		}
		e = e.newer
	}
}
