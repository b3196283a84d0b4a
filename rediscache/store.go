package rediscache

import (
	"sync/atomic"
	"time"
)

// reason is why an entry was dropped.
type reason uint8

const (
	byWrite  reason = iota // of this cache
	byServer               // which has told of a change
	bySpace
	byAge
	byLease
	byUser // of the cache: Invalidate
	reasons
)

// store is the entries, and how many bytes they take.
type store struct {
	shards [shards]shard
	most   int64 // bytes of tags and entries

	bytes, entries atomic.Int64
	turn           atomic.Uint32 // the shard that is to make room next
	dropped        [reasons]atomic.Int64
}

const (
	// entryOverhead is what an entry takes beside its request and its value, cellOverhead what
	// one of a map does whose keys come and go, tagOverhead a tag with its cell, and
	// storeOverhead what all of that takes while it is empty.
	entryOverhead = 160
	cellOverhead  = 40
	tagOverhead   = 64 + cellOverhead
	storeOverhead = 100 << 10
	// largestShare of the bound is what one entry may take: so one large value pushes out as
	// much at the most.
	largestShare = 32
)

func newStore(most int64) *store {
	s := &store{most: most - storeOverhead}
	for i := range s.shards {
		s.shards[i].tags, s.shards[i].bytes = map[uint64]*tag{}, &s.bytes
	}
	return s
}

func (s *store) shard(hash uint64) *shard { return &s.shards[hash>>56] }

// find returns the entry of a request if it is filled, and fresh. key is the hash of the first
// key.
func (s *store) find(request []byte, key uint64, age, nullAge time.Duration) *entry {
	sh := s.shard(key)
	var e *entry
	sh.mu.RLock()
	if t := sh.tags[key]; t != nil {
		e = t.find(request)
	}
	filled := e != nil && e.filled
	sh.mu.RUnlock()
	if !filled || !e.fresh(now(), age, nullAge) {
		return nil
	}
	if !e.visited.Load() {
		e.visited.Store(true)
	}
	sh.hits.Add(1)
	return e
}

// joined is what has become of who wants a reply.
type joined uint8

const (
	asks    joined = iota // it waits for an entry that was put in place, and is to be read
	waits                 // it waits for an entry that is being read
	isThere               // it does not wait: the entry is filled
)

// join has w wait for the entry of a request: one that is put in place, and q is to read, or one
// that is being read, and does as well. If one is filled, nobody waits. Unless w asks, q is not
// needed.
func (s *store) join(q *reading, w waiter, age, nullAge time.Duration) (found *entry, how joined) {
	e := &entry{key: q.key, lease: q.lease, sent: q.sent, listed: q.listed, reading: q}
	for _, key := range q.more {
		e.more = append(e.more, s.hold(key, e))
	}
	sh := s.shard(q.key)
	sh.mu.Lock()
	e.tag = sh.holdLocked(q.key)
	gone := false
	found = e.tag.find(q.request)
	switch {
	case found != nil && found.filled && found.fresh(now(), age, nullAge):
		how = isThere
	case found != nil && found.joinable(q.lease):
		how = waits
		found.reading.waiting = append(found.reading.waiting, w)
	default:
		e.placed = true
		if e.tag.add(e); e.tag.many != nil {
			e.size = cellOverhead
		}
		q.entry, q.waiting = e, append(q.waiting, w)
		gone = found != nil && sh.removeLocked(found)
	}
	sh.mu.Unlock()
	if gone {
		s.forget(found, byAge)
	}
	if how != asks {
		s.release(e)
		return found, how
	}
	return e, asks
}

// hold returns the tag of a key that is not the first of an entry.
func (s *store) hold(key uint64, e *entry) *tag {
	sh := s.shard(key)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	t := sh.holdLocked(key)
	t.others = append(t.others, e)
	return t
}

// release ends what hold has begun.
func (s *store) release(e *entry) {
	for _, t := range e.more {
		sh := s.shard(t.hash)
		sh.mu.Lock()
		t.leave(e)
		sh.releaseLocked(t)
		sh.mu.Unlock()
	}
}

// fill gives an entry its value, if that is still known to hold, and ends its reading. It returns
// who waits: from here on nobody joins them.
func (s *store) fill(e *entry, request string, v value) (waiting []waiter) {
	size := e.size + entryOverhead + taken(len(request)+len(v.text)) + 8*int64(len(e.more))
	if !v.isText {
		size += sizeOf(v.other)
	}
	fits := size <= s.most/largestShare
	if fits {
		s.makeRoom(size)
	}
	sh := s.shard(e.key)
	sh.mu.Lock()
	kept := fits && e.placed && e.alive() && !e.lease.ended()
	if kept {
		e.filled, e.request, e.value, e.size = true, request, v, size
		sh.pushLocked(e)
	} else {
		sh.removeLocked(e)
	}
	waiting, e.reading = e.reading.waiting, nil
	sh.mu.Unlock()
	switch {
	case kept:
		s.entries.Add(1)
		return waiting
	case fits:
		s.bytes.Add(-size)
	}
	s.release(e)
	return waiting
}

// giveUp ends the reading of an entry without a value, and returns who waits for it.
func (s *store) giveUp(e *entry) (waiting []waiter) {
	sh := s.shard(e.key)
	sh.mu.Lock()
	sh.removeLocked(e)
	waiting, e.reading = e.reading.waiting, nil
	sh.mu.Unlock()
	s.release(e)
	return waiting
}

// drop removes an entry.
func (s *store) drop(e *entry, why reason) {
	sh := s.shard(e.key)
	sh.mu.Lock()
	filled := sh.removeLocked(e)
	sh.mu.Unlock()
	if filled {
		s.forget(e, why)
	}
}

// forget accounts for a filled entry that was removed.
func (s *store) forget(e *entry, why reason) {
	s.bytes.Add(-e.size)
	s.entries.Add(-1)
	s.dropped[why].Add(1)
	s.release(e)
}

// changed drops what is kept of a key: what is read of it from here on is of after the change.
func (s *store) changed(key uint64, why reason) {
	sh := s.shard(key)
	var room [few]*entry
	gone, others := room[:0], []*entry(nil)
	sh.mu.Lock()
	if t := sh.killLocked(key); t != nil {
		for e := range t.all {
			if sh.removeLocked(e) {
				gone = append(gone, e)
			}
		}
		others, t.others = t.others, nil
	}
	sh.mu.Unlock()
	for _, e := range gone {
		s.forget(e, why)
	}
	for _, e := range others {
		s.drop(e, why)
	}
}

// makeRoom takes so many bytes, and drops entries if the bound is passed by that.
func (s *store) makeRoom(size int64) {
	s.bytes.Add(size)
	for empty := 0; s.bytes.Load() > s.most && empty < shards; {
		sh := &s.shards[s.turn.Add(1)%shards]
		sh.mu.Lock()
		e := sh.victimLocked()
		if e != nil {
			sh.removeLocked(e)
		}
		sh.mu.Unlock()
		if e == nil {
			empty++
			continue
		}
		empty = 0
		s.forget(e, bySpace)
	}
}

// sweep drops the entries whose lease has ended: they are not served any more.
func (s *store) sweep() {
	for i := range s.shards {
		var gone []*entry
		sh := &s.shards[i]
		sh.mu.Lock()
		for e := sh.newest; e != nil; {
			older := e.older
			if e.lease.ended() && sh.removeLocked(e) {
				gone = append(gone, e)
			}
			e = older
		}
		sh.mu.Unlock()
		for _, e := range gone {
			s.forget(e, byLease)
		}
	}
}
