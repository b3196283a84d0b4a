package queue

// flight is the batches, in the order of the wire: those in flight, and the open one, which
// is behind them. A batch is in flight from when it is about to be written until its last
// reply was read and, if a caller reads, perhaps until that passes the right to read on. All
// of it is guarded by Queue.mu.
type flight struct {
	open *Batch // nil when empty
	// asking: a batch that was taken is not in flight yet, since its futures are asked
	// whether they are cancelled. Until it is, nobody but the loop may get the right to
	// read: requests behind it come after its users' futures.
	asking     bool
	head, tail *Batch
	seq        uint64 // sequence number of the next request
	spares     spares
}

// nextSeq numbers a request.
func (f *flight) nextSeq() (seq uint64) {
	seq = f.seq
	f.seq++
	return seq
}

// push puts a batch in flight, behind the others.
func (f *flight) push(b *Batch) {
	if f.tail == nil {
		f.head = b
	} else {
		f.tail.Next = b
	}
	f.tail = b
}

// pop takes the oldest batch out of flight.
func (f *flight) pop() {
	if f.head = f.head.Next; f.head == nil {
		f.tail = nil
	}
}

// clearMost is up to how many items a batch is cleared under the lock: a long one takes
// microseconds, which are worth a second turn at the lock.
const clearMost = 16

// recycle keeps a batch that nobody holds any more, unless it is long. It reports whether
// it has.
func (f *flight) recycle(b *Batch) bool {
	if len(b.Items) > clearMost {
		return false
	}
	b.reset()
	f.spares.put(b)
	return true
}
