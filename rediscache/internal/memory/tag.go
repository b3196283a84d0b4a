package memory

import (
	"hash/maphash"
	"maps"
	"sync"
	"sync/atomic"
)

// seed is the random seed of the hashes of keys and requests, so that nobody can choose keys that collide.
// If two keys do collide, they share a tag, and a change of one drops the entries of both.
var seed = maphash.MakeSeed()

// HashOf returns the hash of a key or a request.
func HashOf(text string) uint64 { return maphash.String(seed, text) }

// HashOfBytes is HashOf for bytes.
func HashOfBytes(text []byte) uint64 { return maphash.Bytes(seed, text) }

// tag represents the value of a key since its last change. A change of the key removes the tag from the
// shard and kills it, and the next read creates a new tag. So if a request was sent while the tag was in
// the shard, and the tag is still alive, then the reply has the present value of the key.
//
// A tag belongs to its shard. The shard recycles a removed tag, unless an entry has used it for a key other
// than its first: such entries read the tag without a lock.
type tag struct {
	hash uint64
	dead atomic.Bool

	// The lock of the tag's shard guards the fields below. The tag holds the entries whose first key it
	// represents: in a list that starts at first, or in many if there are more than few.
	first *entry
	many  map[uint64]*entry // by the hash of the request
	// others lists the entries for which the key is not the first.
	others *hold
	held   bool // others was not empty at some time
}

// tagOverhead is the size of a tag with its cell in the shard's map, in bytes.
const tagOverhead = 48 + cellOverhead

// hold connects an entry to the tag of a key other than its first: it is an element of tag.others. The
// list of a dead tag does not change.
type hold struct {
	entry          *entry
	tag            *tag
	before, behind *hold // guarded by the lock of the tag's shard
}

// enterLocked puts h at the head of the tag's list.
func (h *hold) enterLocked(t *tag) {
	h.tag, h.behind = t, t.others
	if h.behind != nil {
		h.behind.before = h
	}
	t.others, t.held = h, true
}

// leaveLocked removes h from the tag's list, unless the tag is dead.
func (h *hold) leaveLocked() {
	switch {
	case h.tag.dead.Load():
		return
	case h.before != nil:
		h.before.behind = h.behind
	default:
		h.tag.others = h.behind
	}
	if h.behind != nil {
		h.behind.before = h.before
	}
}

var tagPool = sync.Pool{New: func() any { return new(tag) }}

// recycle returns a tag to the pool, unless entries may still read it.
func (t *tag) recycle() {
	if t.held {
		return
	}
	*t = tag{}
	tagPool.Put(t)
}

// few is the greatest number of entries that a tag holds in a list; more entries are in a map.
const few = 8

// find returns the entry of a request, or nil if there is none.
func (t *tag) find(request []byte) *entry {
	if t.many != nil {
		if e := t.many[HashOfBytes(request)]; e != nil && e.answers(request) {
			return e
		}
		return nil
	}
	for e := t.first; e != nil; e = e.sibling {
		if e.answers(request) {
			return e
		}
	}
	return nil
}

// add makes the tag hold an entry. If there is an older entry of the same request, find no longer returns
// it, and the caller must remove it.
func (t *tag) add(e *entry) {
	if t.many != nil {
		t.many[e.hash()] = e
		return
	}
	n := 1
	for other := t.first; other != nil; other = other.sibling {
		n++
	}
	if n <= few {
		e.sibling, t.first = t.first, e
		return
	}
	many := make(map[uint64]*entry, n)
	for other := range t.all {
		other.sibling, many[other.hash()] = nil, other
	}
	many[e.hash()] = e // added last, to replace an older entry of the same request
	t.first, t.many = nil, many
}

// all iterates over the entries that the tag holds. The present entry may be removed during the iteration.
func (t *tag) all(yield func(*entry) bool) {
	for e := t.first; e != nil; {
		next := e.sibling
		if !yield(e) {
			return
		}
		e = next
	}
	maps.Values(t.many)(yield)
}

// remove makes the tag no longer hold an entry.
func (t *tag) remove(e *entry) {
	if t.many != nil {
		if hash := e.hash(); t.many[hash] == e {
			delete(t.many, hash)
		}
		return
	}
	for at := &t.first; *at != nil; at = &(*at).sibling {
		if *at == e {
			*at, e.sibling = e.sibling, nil
			return
		}
	}
}

func (t *tag) unused() bool { return t.first == nil && len(t.many) == 0 && t.others == nil }
