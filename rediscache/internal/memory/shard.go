package memory

import (
	"sync"
	"sync/atomic"
)

// shards is how many parts the entries are in, each with a lock of its own.
const shards = 256

// shard is a part of the keys, with what is kept of them. Which entry leaves when there is no room
// is decided as SIEVE does: a hand goes from the oldest to the newest and takes the first that was
// not visited since it came by. So a hit moves nothing, and what is read once does not push out
// what is read often.
//
// A shard fills two lines of the processor's caches, which no other one shares. What a hit needs, and
// a miss that is not admitted, is in the first.
type shard struct {
	mu          sync.RWMutex // guards what follows, and what says so of tags, entries and reads
	tags        map[uint64]*tag
	hits, first atomic.Int64

	_      [16]byte
	newest *entry
	oldest *entry
	hand   *entry // nil: begin with the oldest
	// bytes are those that were taken, and are not in the sum of the store yet.
	bytes                   int64
	entries, misses, joined int64
	_                       [8]byte
}

// holdLocked returns the tag of a key. The caller has to use it, or to release it.
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

// releaseLocked takes a tag out if nobody uses it.
func (s *shard) releaseLocked(t *tag) {
	if t.unused() && s.tags[t.hash] == t {
		delete(s.tags, t.hash)
		s.bytes -= tagOverhead
		t.recycle()
	}
}

// killLocked kills the tag of a key. It returns the entries of which that is the first key and
// which were filled, behind those of gone; and all of which it is another one.
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

// sumLocked moves the bytes that were taken to the sum.
func (s *shard) sumLocked(sum *atomic.Int64) {
	if s.bytes != 0 {
		sum.Add(s.bytes)
		s.bytes = 0
	}
}

// pushLocked puts an entry that is filled into the queue.
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

// removeLocked removes an entry, and reports whether it was in place and filled.
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
			s.hand = e.newer
			return e
		}
		e = e.newer
	}
}
