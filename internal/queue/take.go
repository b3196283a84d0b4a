package queue

import "github.com/joomcode/redispipe/internal/timing"

// Take puts the open batch in flight. The caller must have the right to write, which it
// loses if there is nothing to take: b is nil then. It has to resolve the cancelled items
// after it has written.
func (q *Queue) Take() (b *Batch, cancelled []Item) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if b = q.takeOpen(); b == nil {
		q.release()
		return nil, nil
	}
	if b.customFutures {
		cancelled = q.ask(b)
		q.pending -= len(cancelled)
		q.notSent += uint64(len(cancelled))
	}
	if b.withdrawn > 0 {
		b.compact()
	}
	q.letIn()
	if len(b.Items) > 0 {
		q.fly(b)
		return b, cancelled
	}
	q.recycle(b)
	q.pass(nil, q.open != nil)
	return nil, cancelled
}

// takeOpen takes out the open batch, if there is one.
func (q *Queue) takeOpen() (b *Batch) {
	if b, q.open = q.open, nil; b != nil {
		q.bytes -= len(b.Buf)
		q.lingering = 0
	}
	return b
}

// ask asks the futures of b, without the lock, whether they are cancelled, and marks those
// that are as withdrawn. If one ends the goroutine, none counts as cancelled, and the writer
// goroutine gets b and the right to write.
func (q *Queue) ask(b *Batch) (cancelled []Item) {
	asked := false
	q.asking = true
	q.mu.Unlock()
	defer func() {
		q.mu.Lock()
		q.asking = false
		if !asked {
			b.compact()
			q.fly(b)
			q.pass(b, true)
		}
	}()
	cancelled = b.cancelled()
	asked = true
	return cancelled
}

// fly puts a batch in flight.
func (q *Queue) fly(b *Batch) {
	q.take(b, q.session)
	q.judgePostponing(b)
	if q.fenced {
		b.enclose()
		q.pending++
		q.gate.own++
	}
	q.push(b)
	q.concurrency = smooth(q.concurrency, q.pending)
	q.load.Store(int64(q.concurrency))
}

// Wrote accounts for a batch that was written whole. It returns true if more is waiting:
// then the caller keeps the right to write.
func (q *Queue) Wrote(b *Batch) (more bool) {
	q.mu.Lock()
	b.written = true
	if !b.plain {
		q.spares.putBuffer(b)
	}
	more = q.open != nil
	if more && q.postponable() {
		more, q.postponed.since = false, timing.Clock()
	}
	if !more {
		q.release()
	}
	long := b.answered && !q.recycle(b)
	q.mu.Unlock()
	if long {
		q.recycleLong(b)
	}
	return more
}

// recycleLong is recycle of a long batch, which is cleared without the lock.
func (q *Queue) recycleLong(b *Batch) {
	b.reset()
	q.mu.Lock()
	defer q.mu.Unlock()
	q.spares.put(b)
}
