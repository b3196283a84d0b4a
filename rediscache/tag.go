package rediscache

import (
	"hash/maphash"
	"slices"
	"sync"
	"sync/atomic"
)

// seed makes the hashes of keys and requests: nobody outside can choose two that collide. Keys
// that do share a tag, so that a change of one drops what is kept of both.
var seed = maphash.MakeSeed()

func hashOf[T string | []byte](text T) uint64 {
	switch text := any(text).(type) {
	case string:
		return maphash.String(seed, text)
	case []byte:
		return maphash.Bytes(seed, text)
	}
	return 0
}

// tag stands for the value that a key has had since the last event of the key: a reply is known
// to be of that value if its request was sent when the tag was there, and the tag is alive. An
// event of the key kills its tag, and the next read makes another one.
type tag struct {
	hash uint64
	dead atomic.Bool
	// entries hold this tag: those that are read, and those that are being read. Guarded by
	// the lock of the tag's shard.
	entries []*entry
	one     [1]*entry // room for them
}

// tags are those of keys that entries are kept of, in shards.
type tags [shards]struct {
	mu sync.Mutex // guards m, and the entries of the tags in it
	m  map[uint64]*tag
}

func (t *tags) init() {
	for i := range t {
		t[i].m = map[uint64]*tag{}
	}
}

// hold has an entry hold the tag of a key.
func (t *tags) hold(hash uint64, e *entry) *tag {
	s := &t[hash%shards]
	s.mu.Lock()
	defer s.mu.Unlock()
	held := s.m[hash]
	if held == nil {
		held = &tag{hash: hash}
		held.entries = held.one[:0]
		s.m[hash] = held
	}
	held.entries = append(held.entries, e)
	return held
}

// release ends what hold has begun.
func (t *tags) release(e *entry) {
	for _, held := range e.tags {
		s := &t[held.hash%shards]
		s.mu.Lock()
		if i := slices.Index(held.entries, e); i >= 0 {
			held.entries = slices.Delete(held.entries, i, i+1)
		}
		if len(held.entries) == 0 && s.m[held.hash] == held {
			delete(s.m, held.hash)
		}
		s.mu.Unlock()
	}
}

// kill kills the tag of a key, and returns the entries that have held it.
func (t *tags) kill(hash uint64) (entries []*entry) {
	s := &t[hash%shards]
	s.mu.Lock()
	defer s.mu.Unlock()
	held := s.m[hash]
	if held == nil {
		return nil
	}
	held.dead.Store(true)
	delete(s.m, hash)
	entries, held.entries = held.entries, nil
	return entries
}
