package memory

import (
	"bytes"
	"sync"
	"sync/atomic"
)

// entry is a kept reply, or one that is being read. It hangs from the tag of its first key.
//
// While it is being read, it belongs to its Read, which [Store.Fill] and [Store.GiveUp] end; after that
// it belongs to its shard and, once removed, to the code that has removed it. Other code may look at it
// only under the lock of the shard. The last owner recycles it. An entry with several keys is not
// pooled, because a change of a key other than the first may still refer to it.
type entry struct {
	key    uint64 // the hash of its first key
	tag    *tag
	more   []hold // the other keys
	lease  *Lease
	sent   Instant // the request was sent at this time or later, so the reply is not older
	listed bool

	// The lock of the tag's shard guards the fields below, except visited.
	placed  bool // it hangs from its tag; otherwise it is no longer found or filled
	filled  bool // its request and value are set, and it is in the queue of the shard
	visited atomic.Bool
	reading *Read  // until it is filled or given up
	request string // as it is sent
	value   Value
	size    int64

	sibling      *entry // the next one of the tag
	newer, older *entry // in the queue
}

var entryPool = sync.Pool{New: func() any { return new(entry) }}

// newEntry returns the entry of a read.
func newEntry(q *Read) *entry {
	e := entryPool.Get().(*entry)
	e.key, e.lease, e.sent, e.listed, e.reading = q.Key, q.Lease, q.Sent, q.Listed, q
	return e
}

// recycle ends the use of an entry.
func (e *entry) recycle() {
	if len(e.more) > 0 {
		return
	}
	*e = entry{}
	entryPool.Put(e)
}

// answers reports whether the entry belongs to a request.
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

// alive reports whether no key of the entry is known to have changed since before its request was sent.
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

// joinable reports whether a caller may wait for an entry that is being read: its request must have
// been sent under the caller's lease.
func (e *entry) joinable(l *Lease) bool {
	return e.reading != nil && e.lease == l && !l.ended() && e.alive()
}
