package memory

import (
	"hash/maphash"
	"maps"
	"sync"
	"sync/atomic"
)

// seed is the seed of the hashes of keys and requests, so that nobody can choose two that collide. Keys
// that do collide share a tag, so a change of one drops the entries of both.
var seed = maphash.MakeSeed()

// HashOf returns the hash of a key or a request.
func HashOf(text string) uint64 { return maphash.String(seed, text) }

// HashOfBytes is HashOf for bytes.
func HashOfBytes(text []byte) uint64 { return maphash.Bytes(seed, text) }

// tag represents the value of a key since its last change. A reply is known to have that value if its
// request was sent when the tag was in its shard and the tag is still alive. A change of the key
// removes the tag from the shard and kills it, and the next read creates a new tag.
//
// It belongs to its shard, which recycles it when it is removed, unless an entry has used it for a key
// other than its first: such entries read it without a lock.
type tag struct {
	hash uint64
	dead atomic.Bool

	// The lock of the tag's shard guards the fields below. Entries hang from the tag of their first
	// key: in a list that starts at first, or in many if there are more than few.
	first *entry
	many  map[uint64]*entry // by the hash of the request
	// others are the entries for which the key is not the first.
	others *hold
	held   bool // it had others at some time
}

// hold is a key of an entry, other than the first, in the list of its tag. The list of a dead tag stays
// unchanged.
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

// leaveLocked removes h from the list.
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

// recycle returns a tag to the pool.
func (t *tag) recycle() {
	if t.held {
		return
	}
	*t = tag{}
	tagPool.Put(t)
}

// few is the greatest number of entries of a tag that are searched one after the other.
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

// add hangs an entry from the tag. The caller must then remove an older entry of the same request,
// which find no longer returns.
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

// all iterates over the entries that hang from the tag. The present entry may be removed.
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

// remove undoes add.
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
