package wire

import "sync"

// Scratch is what it takes to encode a request: room for its bytes, and the Request that
// describes them. Senders retain nothing of it, so that a few, which stay in a processor's
// cache, do for all callers. Request is as its last user has left it: set all of it.
type Scratch struct {
	Buf     []byte
	Request Request
}

var scratches = sync.Pool{New: func() any { return new(Scratch) }}

// A buffer over this size is left to the garbage collector: one large request must
// not pin its size forever.
const bufferKept = 64 << 10

// GetScratch returns a Scratch whose Buf is empty.
func GetScratch() *Scratch { return scratches.Get().(*Scratch) }

// PutScratch takes a Scratch back.
func PutScratch(s *Scratch) {
	if cap(s.Buf) <= bufferKept {
		s.Buf, s.Request.Caller = s.Buf[:0], nil
		scratches.Put(s)
	}
}
