package memory

import (
	"math/bits"
	"sync/atomic"
)

// asked remembers which requests were sent, by 32 bits of their hashes. The hash of a request determines a
// group of places. If all places of the group are taken, the request replaces another one, so new requests
// gradually displace old ones. There is no lock: if two goroutines write at the same time, a request may
// be forgotten.
type asked [][4]atomic.Uint32 // 0: free

// groupBytes is the size of a group.
const groupBytes = 16

// newAsked returns a table of at most the given number of bytes, and at least half of that.
func newAsked(bytes int64) asked { return make(asked, 1<<(bits.Len64(uint64(bytes/groupBytes))-1)) }

func (a asked) bytes() int64 { return int64(len(a)) * groupBytes }

// before adds a request to the table, and reports whether it was there already.
func (a asked) before(request uint64) bool {
	group, mark := &a[request>>32&uint64(len(a)-1)], uint32(request)|1
	place := int(request >> 62)
	for i := range group {
		switch group[i].Load() {
		case mark:
			return true
		case 0:
			place = i
		}
	}
	return group[place].Swap(mark) == mark // another goroutine may have added the request since the loop
}
