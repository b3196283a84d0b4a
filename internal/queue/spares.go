package queue

// sparesMost is how many bytes of batches and buffers a connection keeps for reuse.
const sparesMost = 6 << 20

// spares are the empty batches and buffers that a connection keeps for reuse. A sync.Pool
// would lose them at each collection.
type spares struct {
	batches []*Batch
	buffers [][]byte
	bytes   int    // of all of them
	trimmed uint64 // the queue's sequence number at the last trim
}

// batch returns an empty batch, with a spare buffer if there is one.
func (s *spares) batch() *Batch {
	var b *Batch
	if n := len(s.batches); n > 0 {
		b, s.batches = s.batches[n-1], s.batches[:n-1]
		s.bytes -= sizeOf(b)
	} else {
		b = &Batch{}
	}
	if n := len(s.buffers); n > 0 {
		b.Buf, s.buffers = s.buffers[n-1], s.buffers[:n-1]
		s.bytes -= cap(b.Buf)
	}
	return b
}

// put keeps an empty batch that nobody holds any more, if there is room.
func (s *spares) put(b *Batch) {
	s.putBuffer(b)
	if s.hasRoom(sizeOf(b)) {
		s.batches = append(s.batches, b)
	}
}

// putBuffer keeps the buffer of a batch that does not need it any more, if there is room.
func (s *spares) putBuffer(b *Batch) {
	if b.Buf != nil && s.hasRoom(cap(b.Buf)) {
		s.buffers = append(s.buffers, b.Buf[:0])
	}
	b.Buf = nil
}

// hasRoom reserves room for so many bytes, and reports whether there was enough.
func (s *spares) hasRoom(size int) bool {
	if s.bytes+size > sparesMost {
		return false
	}
	s.bytes += size
	return true
}

// sizeOf estimates the size of a batch without its buffer, in bytes.
func sizeOf(b *Batch) int { return 256 + 96*cap(b.Items) }

// trim drops everything if at most a heartbeat was sent since the last trim, and
// reports whether that is so. seq is the queue's sequence number.
func (s *spares) trim(seq uint64) (idle bool) {
	if idle = seq-s.trimmed <= 1; idle {
		s.batches, s.buffers, s.bytes = nil, nil, 0
	}
	s.trimmed = seq
	return idle
}
