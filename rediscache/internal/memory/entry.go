package memory

import (
	"bytes"
	"sync"
	"sync/atomic"
)

// entry is a reply that is kept or being read. The tag of its first key holds it.
//
// While the reply is being read, the entry belongs to its Read, which [Store.Fill] and [Store.GiveUp] end.
// After that it belongs to its shard, and once it is removed, to the code that has removed it. Other code
// may look at it only under the lock of the shard. The last owner recycles it. An entry with several keys
// is not pooled, because a change of a key other than the first may still refer to it.
type entry struct {
	key    uint64 // the hash of its first key
	tag    *tag
	more   []hold // the other keys
	lease  *Lease
	sent   Instant // the request was sent at this time or later, so the reply is not older
	listed bool    // Read.Listed

	// The lock of the tag's shard guards the fields below, except visited.
	placed  bool        // its tag holds the entry; otherwise the entry is no longer found or filled
	filled  bool        // request and value are set, and the entry is in the queue of the shard
	visited atomic.Bool // a reader has found the entry since the shard's hand last passed it
	reading *Read       // the running read; nil once the entry is filled or given up
	request string      // the encoded request
	value   Value
	size    int64

	sibling      *entry // the next entry of the tag
	newer, older *entry // the neighbours in the queue of the shard
}

// Sizes in bytes.
const (
	entryOverhead = 160 // an entry without its request and value
	holdOverhead  = 32  // each key of an entry, except the first
	cellOverhead  = 40  // a cell in a map whose keys come and go
)

var entryPool = sync.Pool{New: func() any { return new(entry) }}

// newEntry returns an entry for a read.
func newEntry(q *Read) *entry {
	e := entryPool.Get().(*entry)
	e.key, e.lease, e.sent, e.listed, e.reading = q.Key, q.Lease, q.Sent, q.Listed, q
	return e
}

// recycle returns an entry to the pool, unless it has several keys.
func (e *entry) recycle() {
	if len(e.more) > 0 {
		return
	}
	*e = entry{}
	entryPool.Put(e)
}

// answers reports whether the entry is for the given encoded request.
func (e *entry) answers(request []byte) bool {
	if e.reading != nil {
		return bytes.Equal(e.reading.Request, request)
	}
	return e.request == string(request)
}

// hash returns the hash of the request.
func (e *entry) hash() uint64 {
	if e.reading != nil {
		return HashOfBytes(e.reading.Request)
	}
	return HashOf(e.request)
}

// alive reports whether the tags of all keys of the entry are alive: no key is known to have changed since
// the request was sent.
func (e *entry) alive() bool {
	for i := range e.more {
		if e.more[i].tag.dead.Load() {
			return false
		}
	}
	return !e.tag.dead.Load()
}

// fresh reports whether the entry may be served now within limits.
func (e *entry) fresh(now Instant, l *Limits) bool {
	age := l.Age
	if e.value.null() {
		age = min(age, l.NullAge)
	}
	return (l.All || e.listed) && now-e.sent < Instant(age) && e.lease.Holds(now) && e.alive()
}

// joinable reports whether a caller whose lease is l may wait for the entry: it must be being read, under
// the same lease.
func (e *entry) joinable(l *Lease) bool {
	return e.reading != nil && e.lease == l && !l.ended() && e.alive()
}
