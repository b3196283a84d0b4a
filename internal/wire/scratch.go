package wire

import "sync"

// Scratch is what it takes to encode requests: room for their bytes, and for the Requests that
// describe them. It is its user's between GetScratch and PutScratch. Senders retain nothing of
// it, so that a few, which stay in a processor's cache, do for all callers. Request is as its
// last user has left it: set all of it.
type Scratch struct {
	Buf     []byte
	Request Request
	batch   []Request
	refs    []*Request
}

var scratches = sync.Pool{New: func() any { return new(Scratch) }}

// A buffer over this size, or a batch of more requests, is left to the garbage collector: a
// large one must not pin its size forever.
const (
	bufferKept = 64 << 10
	batchKept  = 256
)

// GetScratch returns a Scratch whose Buf is empty.
func GetScratch() *Scratch { return scratches.Get().(*Scratch) }

// Batch returns n Requests that are zero.
func (s *Scratch) Batch(n int) []*Request {
	if n > cap(s.batch) {
		s.batch, s.refs = make([]Request, n), make([]*Request, n)
		for i := range s.batch {
			s.refs[i] = &s.batch[i]
		}
	}
	s.batch = s.batch[:n]
	return s.refs[:n]
}

// PutScratch takes a Scratch back.
func PutScratch(s *Scratch) {
	if cap(s.Buf) > bufferKept || cap(s.batch) > batchKept {
		return
	}
	clear(s.batch)
	s.Buf, s.Request.Caller, s.batch = s.Buf[:0], nil, s.batch[:0]
	scratches.Put(s)
}
