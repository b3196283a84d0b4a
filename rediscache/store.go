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
	tags   tags
	most   int64 // bytes

	bytes, entries atomic.Int64
	turn           atomic.Uint32 // the shard that is to make room next
	dropped        [reasons]atomic.Int64
}

const (
	// entryOverhead is what an entry takes beside its request and its value: the entry
	// itself, its tag, and its cells in two maps.
	entryOverhead = 290
	// largestShare of the bound is what one entry may take: so one large value pushes out as
	// much at the most.
	largestShare = 32
)

func newStore(most int64) *store {
	s := &store{most: most}
	s.tags.init()
	for i := range s.shards {
		s.shards[i].entries = map[uint64]*entry{}
	}
	return s
}

func (s *store) shard(hash uint64) *shard { return &s.shards[hash>>56] }

// find returns the entry of a request if it is filled, and fresh.
func (s *store) find(request []byte, hash uint64, age, nullAge time.Duration) *entry {
	sh := s.shard(hash)
	sh.mu.RLock()
	e := sh.entries[hash]
	filled := e != nil && e.filled
	sh.mu.RUnlock()
	if !filled || e.request != string(request) || !e.fresh(now(), age, nullAge) {
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
	asks    joined = iota // it waits for the entry that it has put in place, which is to be read
	waits                 // it waits for an entry that is being read
	isThere               // it does not wait: the entry is filled
)

// join has w wait for the read of e, which is put in place for it, or of an entry for the same
// request that does as well. Then, and if there is one that is filled, e is not needed.
func (s *store) join(e *entry, w waiter, age, nullAge time.Duration) (found *entry, how joined) {
	sh := s.shard(e.hash)
	sh.mu.Lock()
	there := sh.entries[e.hash]
	if there != nil && there.request == e.request {
		switch {
		case there.filled && there.fresh(now(), age, nullAge):
			sh.mu.Unlock()
			s.tags.release(e)
			return there, isThere
		case !there.filled && there.reading != nil && there.alive() && there.lease == e.lease && !e.lease.ended():
			there.reading.waiting = append(there.reading.waiting, w)
			sh.mu.Unlock()
			s.tags.release(e)
			return there, waits
		}
	}
	gone := there != nil && sh.removeLocked(there)
	sh.entries[e.hash] = e
	e.reading.first[0] = w
	e.reading.waiting = e.reading.first[:]
	sh.mu.Unlock()
	if gone {
		s.forget(there, byAge)
	}
	return e, asks
}

// fill gives an entry its value, if that is still known to hold, and returns who waits for it.
func (s *store) fill(e *entry, v value) (waiting []waiter) {
	e.size = entryOverhead + taken(len(e.request)) + taken(len(v.text))
	if !v.isText {
		e.size += sizeOf(v.other)
	}
	fits := e.size <= s.most/largestShare
	if fits {
		s.makeRoom(e.size)
	}
	sh := s.shard(e.hash)
	sh.mu.Lock()
	waiting = e.takeLocked()
	if fits && sh.entries[e.hash] == e && e.alive() && !e.lease.ended() {
		e.value, e.filled = v, true
		sh.pushLocked(e)
		sh.mu.Unlock()
		s.entries.Add(1)
		return waiting
	}
	sh.removeLocked(e)
	sh.mu.Unlock()
	if fits {
		s.bytes.Add(-e.size)
	}
	s.tags.release(e)
	return waiting
}

// giveUp ends the read of an entry without a value, and returns who waits for it.
func (s *store) giveUp(e *entry) (waiting []waiter) {
	sh := s.shard(e.hash)
	sh.mu.Lock()
	waiting = e.takeLocked()
	sh.removeLocked(e)
	sh.mu.Unlock()
	s.tags.release(e)
	return waiting
}

// takeLocked returns who waits for the entry. From here on nobody joins them.
func (e *entry) takeLocked() (waiting []waiter) {
	waiting, e.reading = e.reading.waiting, nil
	return waiting
}

// drop removes an entry.
func (s *store) drop(e *entry, why reason) {
	sh := s.shard(e.hash)
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
	s.tags.release(e)
}

// changed drops what is kept of a key: what is read of it from here on is of after the change.
func (s *store) changed(hash uint64, why reason) {
	for _, e := range s.tags.kill(hash) {
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
		for _, e := range sh.entries {
			if e.filled && e.lease.ended() && sh.removeLocked(e) {
				gone = append(gone, e)
			}
		}
		sh.mu.Unlock()
		for _, e := range gone {
			s.forget(e, byLease)
		}
	}
}
