package memory

// victimLocked returns the next entry to evict, as SIEVE chooses it (see shard), or nil if the shard is
// empty.
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
