// Package memory keeps replies in memory: by request, until a key of the request is changed, or the
// lease ends under which it was read. It sends nothing and hears of nothing: who does says what is
// read, what has changed, and until when leases hold.
package memory

import "sync/atomic"

// Reason is why an entry was dropped.
type Reason uint8

// Why entries are dropped.
const (
	ByWrite  Reason = iota // that was sent by those who read
	ByServer               // which has told of a change
	BySpace
	ByAge
	ByLease
	ByUser
	reasons
)

// Store is what is kept, and what is being read, of all servers. It is safe for use by many
// goroutines, has none of its own, and never calls what it is given.
type Store struct {
	shards [shards]shard
	asked  asked
	most   int64 // bytes of tags and entries

	bytes   atomic.Int64  // but for those that shards have not summed up yet
	turn    atomic.Uint32 // the shard that is to make room next
	dropped [reasons]atomic.Int64
}

const (
	// entryOverhead is what an entry takes beside its request and its value, holdOverhead each of
	// its keys but the first, cellOverhead one of a map whose keys come and go, tagOverhead a tag
	// with its cell, and storeOverhead what all of that takes while it is empty.
	entryOverhead = 160
	holdOverhead  = 32
	cellOverhead  = 40
	tagOverhead   = 48 + cellOverhead
	storeOverhead = 100 << 10
	// largestShare of the bound is what one entry may take: so one large value pushes out as
	// much at the most.
	largestShare = 32
	// fullShare of the bound may be free in a store that is full.
	fullShare = 16
	// askedShare of the bound is what the table of asked takes at the most: so it remembers about
	// as many requests as there is room for small entries. With a quarter of that, popular requests
	// were forgotten before they came again; with four times of it, four times as many were kept
	// that did not come again.
	askedShare = 64
)

// New returns a store that takes so many bytes at the most.
func New(most int64) *Store {
	s := &Store{asked: newAsked(most / askedShare)}
	s.most = most - storeOverhead - s.asked.bytes()
	for i := range s.shards {
		s.shards[i].tags = map[uint64]*tag{}
	}
	return s
}

func (s *Store) shard(hash uint64) *shard { return &s.shards[hash>>56] }

// Find sets v to the reply to a request if it is kept and within limits. key is the hash of the first
// key. A hit must take few nanoseconds: a value that is returned is copied by each function on its way.
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

// Admits reports whether the reply to a request is worth a place: while there is room, each is; then
// those of requests that were asked for before, as far as is remembered. key is the hash of the first
// key. While there is much room, nothing is remembered: the table is rarely in a processor's cache.
func (s *Store) Admits(request []byte, key uint64) bool {
	free := s.most - s.bytes.Load()
	if free > s.most/2 || s.asked.before(HashOfBytes(request)) || free > s.most/fullShare {
		return true
	}
	s.shard(key).first.Add(1)
	return false
}

// Joined is what has become of who wants a reply.
type Joined uint8

// What Store.Join returns.
const (
	Asks    Joined = iota // it waits for the read, which is to be sent
	Waits                 // it waits for a read that was sent before
	IsThere               // it does not wait: the reply is kept
)

// Join has w wait for the reply to a request: for that to q, or to a read that was sent before, and
// does as well. If the reply is kept and within limits, it returns that, and nobody waits.
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

// hold has an entry depend on the tags of keys that are not its first.
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

// release ends what hold has begun.
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

// Fill keeps the reply to a read, with the text of its request, if that is still known to hold. It
// returns who waits for it, in the room of the read: from here on nobody joins them.
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

// GiveUp ends a read without a reply, and returns who waits for it, as Fill does.
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

// endLocked ends a read, whose entry is the shard's if it is kept.
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

// forget ends the use of a filled entry that was removed.
func (s *Store) forget(e *entry, why Reason) {
	s.dropped[why].Add(1)
	s.release(e)
	e.recycle()
}

// Changed drops what is kept of the key with a hash: what is read of it from here on is of after the
// change.
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
	for ; others != nil; others = others.behind { // it is of a dead tag
		s.drop(others.entry, why)
	}
}

// makeRoom drops entries while the bound is passed.
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

// Sweep drops what was read under leases that have ended: it is not served any more.
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

// Counts are what has become of those who wanted replies, since the store was made, and what it
// holds.
type Counts struct {
	Hits, Joined, Misses int64 // IsThere or found, Waits, Asks
	First                int64 // not admitted
	Entries, Bytes       int64
	Dropped              [reasons]int64
}

// Counts returns the counters, not all of one moment.
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
