package rediscache

import (
	"sync"
	"sync/atomic"
)

// shards is how many parts the entries are in, each with a lock of its own.
const shards = 256

// shard is a part of the entries. Which one leaves when there is no room is decided as SIEVE
// does: a hand goes from the oldest to the newest and takes the first that was not visited since
// it came by. So a hit moves nothing, and what is read once does not push out what is read often.
type shard struct {
	mu      sync.RWMutex // guards what follows
	entries map[uint64]*entry
	newest  *entry
	oldest  *entry
	hand    *entry // nil: begin with the oldest

	hits atomic.Int64
	_    [64]byte // so that shards do not share a line of the processor's caches
}

// pushLocked puts an entry that is filled into the queue.
func (s *shard) pushLocked(e *entry) {
	e.next, e.prev = s.newest, nil
	if s.newest != nil {
		s.newest.prev = e
	}
	s.newest = e
	if s.oldest == nil {
		s.oldest = e
	}
}

// removeLocked removes an entry, and reports whether it was there and filled.
func (s *shard) removeLocked(e *entry) (filled bool) {
	if s.entries[e.hash] != e {
		return false
	}
	delete(s.entries, e.hash)
	if !e.filled {
		return false
	}
	if s.hand == e {
		s.hand = e.prev
	}
	if e.prev != nil {
		e.prev.next = e.next
	} else {
		s.newest = e.next
	}
	if e.next != nil {
		e.next.prev = e.prev
	} else {
		s.oldest = e.prev
	}
	e.prev, e.next = nil, nil
	return true
}

// victimLocked returns the entry that is to leave, nil if there is none.
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
			s.hand = e.prev
			return e
		}
		e = e.prev
	}
}
