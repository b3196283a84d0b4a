package redisconn

import (
	"sync/atomic"
	"time"

	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/internal/timing"
	"github.com/joomcode/redispipe/redisconn/internal/engine"
)

// large knows which reads have had large replies, by the command and the pattern of its first argument.
// Such reads run apart: see dedicated.Pool.Apart.
type large struct {
	// known holds the kinds of reads with large replies. If no reply was large for largeKept, the next
	// read sets it to nil.
	known atomic.Pointer[kinds]
}

// largeKept is how long the kinds are remembered after the last large reply.
const largeKept = time.Minute

// kinds is a set of kinds of reads. If two kinds have the same place, the later one replaces the earlier
// one.
type kinds struct {
	places [64]atomic.Uint32
	until  atomic.Int64 // when the kinds are forgotten, on timing.Clock
}

// kindOf returns the kind of an encoded request: a hash of its name and of its first argument, in which
// all numbers count as the same. It is never 0.
func kindOf(encoded []byte) uint32 {
	const offset, prime = 2166136261, 16777619 // FNV-1a
	h := uint32(offset)
	for _, c := range send.Word(encoded, 0) {
		h = (h ^ uint32(c|0x20)) * prime // letters count the same in upper and lower case
	}
	before := byte(' ')
	for _, c := range send.Word(encoded, 1) {
		if '0' <= c && c <= '9' {
			c = '0'
		}
		if c != '0' || before != '0' {
			h = (h ^ uint32(c)) * prime
		}
		before = c
	}
	return max(h, 1)
}

func (k *kinds) place(kind uint32) *atomic.Uint32 { return &k.places[kind%uint32(len(k.places))] }

// learn records that a request of a kind had a large reply.
func (l *large) learn(kind uint32) {
	known := l.known.Load()
	if known == nil {
		known = new(kinds)
	}
	known.place(kind).Store(kind)
	known.until.Store(int64(timing.Clock() + largeKept))
	l.known.Store(known) // has may have forgotten it
}

// sized records the size of the reply to a read that has run apart. If the reply is not large, reads of
// its kind run on the shared connection again.
func (l *large) sized(kind uint32, reply int) {
	if reply >= engine.LargeLeast {
		l.learn(kind)
	} else if known := l.known.Load(); known != nil {
		known.place(kind).CompareAndSwap(kind, 0)
	}
}

// has reports whether a read of that kind is likely to have a large reply, because the last one had.
func (l *large) has(kind uint32) bool {
	known := l.known.Load()
	if known != nil && known.until.Load() < int64(timing.Clock()) {
		l.known.CompareAndSwap(known, nil)
		return false
	}
	return known != nil && known.place(kind).Load() == kind
}
