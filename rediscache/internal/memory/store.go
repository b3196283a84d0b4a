// Package memory keeps replies in memory, by request, until a key of the request changes or the lease
// under which the reply was read ends. It does no I/O: its caller passes it the replies and the changes,
// and ends the leases.
package memory

import "sync/atomic"

// Reason is why an entry was dropped.
type Reason uint8

// The reasons why entries are dropped.
const (
	ByWrite  Reason = iota // a write through the cache
	ByServer               // the server reported a change
	BySpace
	ByAge
	ByLease
	ByUser
	reasons
)

// Store holds the kept replies and the running reads of all servers. It is safe for concurrent use,
// starts no goroutine, and never calls a future.
type Store struct {
	shards [shards]shard
	asked  asked
	most   int64 // the bound for the bytes of tags and entries

	bytes   atomic.Int64  // the allocated bytes, except those that shards have not added yet (shard.bytes)
	turn    atomic.Uint32 // chooses the shard that makes room next
	dropped [reasons]atomic.Int64
}

const (
	// storeOverhead is the size of an empty store, in bytes.
	storeOverhead = 100 << 10
	// largestShare: an entry may take at most 1/largestShare of the bound, so that a large value does not
	// evict many others.
	largestShare = 32
	// fullShare: a store counts as full when at most 1/fullShare of the bound is free.
	fullShare = 16
	// askedShare: the table of asked takes at most 1/askedShare of the bound, so that it remembers about
	// as many requests as there is room for small entries. A smaller table forgets popular requests before
	// they come again; with a larger one the cache keeps more replies that nobody requests again.
	askedShare = 64
)

// New returns a store that takes at most most bytes.
func New(most int64) *Store {
	s := &Store{asked: newAsked(most / askedShare)}
	s.most = most - storeOverhead - s.asked.bytes()
	for i := range s.shards {
		s.shards[i].tags = map[uint64]*tag{}
	}
	return s
}

func (s *Store) shard(hash uint64) *shard { return &s.shards[hash>>56] }

// Find sets v to the kept reply to a request, if there is one that l accepts. key is the hash of the
// request's first key. Find sets v instead of returning it, because a hit must be fast and each function
// on the way would copy the value.
func (s *Store) Find(request []byte, key uint64, l *Limits, v *Value) (found bool) {
	sh := s.shard(key)
	sh.mu.RLock()
	if t := sh.tags[key]; t != nil {
		if e := t.find(request); e != nil && e.filled && e.fresh(Now(), l) {
			*v, found = e.value, true
			if !e.visited.Load() {
				e.visited.Store(true)
			}
		}
	}
	sh.mu.RUnlock()
	if found {
		sh.hits.Add(1)
	}
	return found
}

// Admits reports whether the reply to a request should be kept. While there is room, it admits every
// request; after that, it admits requests that were sent before. key is the hash of the first key. While
// more than half of the memory is free, Admits does not use the table of requests, which is rarely in a
// processor's cache.
func (s *Store) Admits(request []byte, key uint64) bool {
	free := s.most - s.bytes.Load()
	if free > s.most/2 || s.asked.before(HashOfBytes(request)) || free > s.most/fullShare {
		return true
	}
	s.shard(key).first.Add(1)
	return false
}

// Joined is a result of Store.Join.
type Joined uint8

// The results of Store.Join.
const (
	Asks    Joined = iota // w waits for the reply to q, and the caller must send q
	Waits                 // w waits for the same request of another caller
	IsThere               // w does not wait, because the reply is kept
)

// Join makes w wait for the reply to a request: to q, or to the same request of another caller if that was
// sent under the same lease. If a reply is kept that l accepts, Join returns it, and w does not wait.
func (s *Store) Join(q *Read, w Waiter, l Limits) (kept Value, how Joined) {
	e := newEntry(q)
	if len(q.More) > 0 {
		s.hold(e, q.More)
	}
	sh := s.shard(q.Key)
	gone, why := false, ByAge
	sh.mu.Lock()
	t := sh.holdLocked(q.Key)
	found := t.find(q.Request)
	switch {
	case found != nil && found.filled && found.fresh(Now(), &l):
		kept, how = found.value, IsThere
		sh.hits.Add(1)
	case found != nil && found.joinable(q.Lease):
		how = Waits
		sh.joined++
		found.reading.waiting = append(found.reading.waiting, w)
	default:
		sh.misses++
		e.tag, e.placed = t, true
		if t.add(e); t.many != nil {
			e.size = cellOverhead
		}
		q.entry, q.waiting = e, append(q.waiting, w)
		if gone = found != nil && sh.removeLocked(found); gone && found.lease.ended() {
			why = ByLease
		}
	}
	sh.mu.Unlock()
	if gone {
		s.forget(found, why)
	}
	if how != Asks {
		s.release(e)
		e.recycle()
	}
	return kept, how
}

// hold makes an entry depend on the tags of keys, which are all its keys but the first.
func (s *Store) hold(e *entry, keys []uint64) {
	e.more = make([]hold, len(keys))
	for i, key := range keys {
		h := &e.more[i]
		h.entry = e
		sh := s.shard(key)
		sh.mu.Lock()
		h.enterLocked(sh.holdLocked(key))
		sh.mu.Unlock()
	}
}

// release undoes hold.
func (s *Store) release(e *entry) {
	for i := range e.more {
		h := &e.more[i]
		sh := s.shard(h.tag.hash)
		sh.mu.Lock()
		h.leaveLocked()
		sh.releaseLocked(h.tag)
		sh.mu.Unlock()
	}
}

// Fill keeps the reply v to a read, if it is still known to be valid. request is the encoded request. Fill
// returns the waiters, in memory that belongs to the read; no further waiter can join.
func (s *Store) Fill(q *Read, request string, v Value) (waiting []Waiter) {
	e := q.entry
	size := e.size + entryOverhead + taken(len(request)+len(v.text)) + holdOverhead*int64(len(e.more))
	if !v.isText {
		size += sizeOf(v.other)
	}
	sh := s.shard(e.key)
	sh.mu.Lock()
	kept := size <= s.most/largestShare && e.placed && e.alive() && !e.lease.ended()
	if kept {
		e.filled, e.request, e.value, e.size = true, request, v, size
		sh.pushLocked(e)
	}
	s.endLocked(sh, q, kept)
	sh.mu.Unlock()
	if kept {
		s.makeRoom()
	} else {
		s.release(e)
		e.recycle()
	}
	return q.waiting
}

// GiveUp ends a read without a reply, and returns the waiters, like Fill.
func (s *Store) GiveUp(q *Read) (waiting []Waiter) {
	e := q.entry
	sh := s.shard(e.key)
	sh.mu.Lock()
	s.endLocked(sh, q, false)
	sh.mu.Unlock()
	s.release(e)
	e.recycle()
	return q.waiting
}

// endLocked ends a read. It removes the entry unless kept is set; a kept entry then belongs to the shard.
func (s *Store) endLocked(sh *shard, q *Read, kept bool) {
	if !kept {
		sh.removeLocked(q.entry)
	}
	q.entry.reading, q.entry = nil, nil
	sh.sumLocked(&s.bytes)
}

// drop removes an entry.
func (s *Store) drop(e *entry, why Reason) {
	sh := s.shard(e.key)
	sh.mu.Lock()
	filled := sh.removeLocked(e)
	sh.sumLocked(&s.bytes)
	sh.mu.Unlock()
	if filled {
		s.forget(e, why)
	}
}

// forget recycles a filled entry that was removed.
func (s *Store) forget(e *entry, why Reason) {
	s.dropped[why].Add(1)
	s.release(e)
	e.recycle()
}

// Changed drops the entries of a key, given its hash. Reads that join later are sent after the change.
func (s *Store) Changed(key uint64, why Reason) {
	sh := s.shard(key)
	var room [few]*entry
	sh.mu.Lock()
	gone, others := sh.killLocked(key, room[:0])
	sh.sumLocked(&s.bytes)
	sh.mu.Unlock()
	for _, e := range gone {
		s.forget(e, why)
	}
	for ; others != nil; others = others.behind { // the list of a dead tag does not change
		s.drop(others.entry, why)
	}
}

// makeRoom drops entries while the bound is exceeded.
func (s *Store) makeRoom() {
	for empty := 0; s.bytes.Load() > s.most && empty < shards; {
		sh := &s.shards[s.turn.Add(1)%shards]
		sh.mu.Lock()
		e := sh.victimLocked()
		if e != nil {
			sh.removeLocked(e)
		}
		sh.sumLocked(&s.bytes)
		sh.mu.Unlock()
		if e == nil {
			empty++
			continue
		}
		empty = 0
		s.forget(e, BySpace)
	}
}

// Sweep drops the replies whose leases have ended. Such replies are no longer served anyway.
func (s *Store) Sweep() {
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
		sh.sumLocked(&s.bytes)
		sh.mu.Unlock()
		for _, e := range gone {
			s.forget(e, ByLease)
		}
	}
}

// Counts counts the results of look-ups since the store was created, and its present contents.
type Counts struct {
	Hits           int64 // replies that Find or Join has returned
	Joined         int64 // reads that wait for another caller's reply: Join has returned Waits
	Misses         int64 // reads that were sent: Join has returned Asks
	First          int64 // requests that Admits has not admitted
	Entries, Bytes int64
	Dropped        [reasons]int64
}

// Counts returns the counters. They are not read atomically.
func (s *Store) Counts() Counts {
	c := Counts{Bytes: s.bytes.Load()}
	for i := range s.shards {
		sh := &s.shards[i]
		sh.mu.RLock()
		c.Joined += sh.joined
		c.Misses += sh.misses
		c.Entries += sh.entries
		c.Bytes += sh.bytes
		sh.mu.RUnlock()
		c.Hits += sh.hits.Load()
		c.First += sh.first.Load()
	}
	for why := range s.dropped {
		c.Dropped[why] = s.dropped[why].Load()
	}
	return c
}
