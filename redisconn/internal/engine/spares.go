package engine

// sparesMost is how many bytes of batches and buffers a connection keeps for reuse.
const sparesMost = 6 << 20

// spares are the empty batches and buffers that a connection keeps for reuse. A sync.Pool
// would lose them at each collection.
type spares struct {
	batches []*batch
	buffers [][]byte
	bytes   int    // of all of them
	trimmed uint64 // the queue's sequence number at the last trim
}

// batch returns an empty batch, with a spare buffer if there is one.
func (s *spares) batch() *batch {
	var b *batch
	if n := len(s.batches); n > 0 {
		b, s.batches = s.batches[n-1], s.batches[:n-1]
		s.bytes -= sizeOf(b)
	} else {
		b = &batch{}
	}
	if n := len(s.buffers); n > 0 {
		b.buf, s.buffers = s.buffers[n-1], s.buffers[:n-1]
		s.bytes -= cap(b.buf)
	}
	return b
}

// put keeps an empty batch that nobody holds any more, if there is room.
func (s *spares) put(b *batch) {
	s.putBuffer(b)
	if s.hasRoom(sizeOf(b)) {
		s.batches = append(s.batches, b)
	}
}

// putBuffer keeps the buffer of a batch that does not need it any more, if there is room.
func (s *spares) putBuffer(b *batch) {
	if b.buf != nil && s.hasRoom(cap(b.buf)) {
		s.buffers = append(s.buffers, b.buf[:0])
	}
	b.buf = nil
}

// hasRoom reserves room for size bytes if there is enough, and reports whether it did.
func (s *spares) hasRoom(size int) bool {
	if s.bytes+size > sparesMost {
		return false
	}
	s.bytes += size
	return true
}

// sizeOf estimates the size of a batch without its buffer, in bytes.
func sizeOf(b *batch) int { return 256 + 96*cap(b.items) }

// trim reports whether the connection is idle: since the last trim at most one request has entered,
// a heartbeat. If so, it drops the memory that is kept for reuse.
func (q *queue) trim() (idle bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	s := &q.spares
	if idle = q.seq-s.trimmed <= 1; idle {
		s.batches, s.buffers, s.bytes, q.last = nil, nil, 0, nil
	}
	s.trimmed = q.seq
	return idle
}
