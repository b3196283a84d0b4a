package memory

import (
	"sync"
	"sync/atomic"
)

// shards is the number of shards, each with its own lock.
const shards = 256

// shard has a part of the keys, with their entries. The SIEVE algorithm chooses the entry to evict: a hand
// moves from the oldest to the newest entry, and evicts the first one that was not visited since the hand
// last passed it. So a hit moves nothing, and entries that are read once do not evict entries that are read
// often.
//
// A shard fills two cache lines, which it shares with no other shard. The first line has the fields that
// are needed for a hit, and for a miss that Store.Admits does not admit.
type shard struct {
	mu          sync.RWMutex // guards the fields below, and the fields of tags, entries and reads whose comments say so
	tags        map[uint64]*tag
	hits, first atomic.Int64

	_      [16]byte
	newest *entry
	oldest *entry
	hand   *entry // nil: begin with the oldest
	// bytes is the change of the allocated bytes that was not added to Store.bytes yet.
	bytes                   int64
	entries, misses, joined int64
	_                       [8]byte
}

// holdLocked returns the tag of a key, and creates it if necessary. The caller must give it an entry or
// call releaseLocked.
func (s *shard) holdLocked(key uint64) *tag {
	t := s.tags[key]
	if t == nil {
		t = tagPool.Get().(*tag)
		t.hash = key
		s.tags[key] = t
		s.bytes += tagOverhead
	}
	return t
}

// releaseLocked removes a tag if nothing uses it.
func (s *shard) releaseLocked(t *tag) {
	if t.unused() && s.tags[t.hash] == t {
		delete(s.tags, t.hash)
		s.bytes -= tagOverhead
		t.recycle()
	}
}

// killLocked kills the tag of a key. It removes the entries whose first key this is, and appends those that
// were filled to gone. others is the list of the entries for which it is another key.
func (s *shard) killLocked(key uint64, gone []*entry) (_ []*entry, others *hold) {
	t := s.tags[key]
	if t == nil {
		return gone, nil
	}
	t.dead.Store(true)
	delete(s.tags, key)
	s.bytes -= tagOverhead
	for e := range t.all {
		if s.removeLocked(e) {
			gone = append(gone, e)
		}
	}
	others, t.others = t.others, nil
	t.recycle()
	return gone, others
}

// sumLocked moves the shard's bytes to sum.
func (s *shard) sumLocked(sum *atomic.Int64) {
	if s.bytes != 0 {
		sum.Add(s.bytes)
		s.bytes = 0
	}
}

// pushLocked puts a filled entry into the queue.
func (s *shard) pushLocked(e *entry) {
	e.older, e.newer = s.newest, nil
	if s.newest != nil {
		s.newest.newer = e
	}
	s.newest = e
	if s.oldest == nil {
		s.oldest = e
	}
	s.bytes += e.size
	s.entries++
}

// removeLocked removes an entry from its tag and the queue. It returns true if the entry was still there
// and filled; the caller must then recycle it.
func (s *shard) removeLocked(e *entry) (filled bool) {
	if !e.placed {
		return false
	}
	e.placed = false
	e.tag.remove(e)
	s.releaseLocked(e.tag)
	if !e.filled {
		return false
	}
	s.bytes -= e.size
	s.entries--
	if s.hand == e {
		s.hand = e.newer
	}
	if e.newer != nil {
		e.newer.older = e.older
	} else {
		s.newest = e.older
	}
	if e.older != nil {
		e.older.newer = e.newer
	} else {
		s.oldest = e.newer
	}
	e.newer, e.older = nil, nil
	return true
}
