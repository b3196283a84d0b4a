package redisconn

// newBatchLocked returns an empty batch, with a buffer if one is spare.
func (q *queue) newBatchLocked() *batch {
	var b *batch
	if n := len(q.spare); n > 0 {
		b, q.spare = q.spare[n-1], q.spare[:n-1]
	} else {
		b = &batch{}
	}
	if n := len(q.buffers); n > 0 {
		b.buf, q.buffers = q.buffers[n-1], q.buffers[:n-1]
	}
	return b
}

// recycle keeps a batch for reuse. Nobody may hold it any more. What it holds
// is cleared without the lock, since that takes microseconds for a long one.
func (q *queue) recycle(b *batch) {
	buf := b.buf
	b.reset()
	q.mu.Lock()
	defer q.mu.Unlock()
	b.buf = buf
	q.freeLocked(b)
	q.recycledLocked(b)
}

func (q *queue) recycledLocked(b *batch) {
	if len(q.spare) < batchesKept && cap(b.items) <= batchKeptItems {
		q.spare = append(q.spare, b)
	}
}

// freeLocked keeps the buffer of a batch, which does not need it any more, for reuse.
func (q *queue) freeLocked(b *batch) {
	kept, size := len(q.buffers), cap(b.buf)
	if b.buf != nil && (kept < buffersKept && size <= batchKeptBuffer || kept < smallBuffers && size <= smallBuffer) {
		q.buffers = append(q.buffers, b.buf[:0])
	}
	b.buf = nil
}

// trim lets go of what is kept for reuse, if but a heartbeat was sent since
// the last time.
func (q *queue) trim() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.seq-q.trimmed <= 1 {
		q.spare, q.buffers = nil, nil
	}
	q.trimmed = q.seq
}
