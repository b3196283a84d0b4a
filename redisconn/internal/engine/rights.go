package engine

import (
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/internal/timing"
)

// duty is what a sender must do after its request has entered. It is a set of flags, which fits
// into a register.
type duty uint8

// The duties.
const (
	mustCheck  duty = 1 << iota // check the socket before writing, because nobody has read since the last reply
	mustWake                    // pass the right to read to the loop before writing
	mustWrite                   // write: the sender has the right to write
	mustListen                  // arrange a call of listen
)

// duty gives the free rights to the sender of the last requests of the open batch, or to the caller
// that waits for these requests.
func (q *queue) duty() (s *Session, d duty) {
	switch s = q.session; {
	case s == nil:
		return nil, 0
	case q.reading != readNobody:
		return s, q.dutyToWrite()
	}
	last := &q.open.items[len(q.open.items)-1]
	caller, seq := last.caller, last.seq
	var first *batch
	if caller != nil && s.mayExchange && alone(q.concurrency) && !q.open.customFutures {
		first = q.takeOpen()
	}
	return q.giveBoth(first, caller, seq)
}

// dutyToWrite gives the right to write to the sender, if it is free and the open batch is not
// postponed.
func (q *queue) dutyToWrite() duty {
	switch {
	case q.yielding != 0 && q.enough():
		q.yielding = 0 // takes the right to write away from a holder that yields
		return mustWrite
	case q.writing:
	case !q.postponable():
		q.writing = true
		return mustWrite
	case q.postponed.since == 0:
		q.postponed.since = q.opened
	}
	return 0
}

// loopReads passes the right to read from a caller to the loop, which must be woken. It returns
// false if s has ended: then the caller keeps the right.
func (q *queue) loopReads(s *Session) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.session != s {
		return false
	}
	q.reading = readLoop
	return true
}

// offersMost bounds how many requests are searched for the next caller that can read. Callers whose
// contexts have ended can't.
const offersMost = 32

// nextReader returns the next holder of the right to read. If that is a caller, nextReader gives it
// the right.
func (q *queue) nextReader(s *Session) readHolder {
	b := q.head
	switch {
	case b == nil && q.asksFutures || !s.mayPass || q.crowded.Load():
		return readLoop
	case b == nil:
		b = q.open
	}
	offers := 0
	for ; b != nil; b = b.next {
		for i := int(b.claimed.Load()); i < len(b.items) && offers < offersMost; i++ {
			offers++
			it := &b.items[i]
			if it.future == nil {
				continue // any reader may read the reply of an item without a future
			}
			if it.caller == nil {
				return readLoop
			}
			postponed := b == q.open && !q.writing
			s.both = postponed
			if it.caller.GiveRead(send.ReadRight{Reader: s, Last: b.lastOf(i)}) {
				q.writing = q.writing || postponed
				return readCaller
			}
			s.both = false
		}
	}
	return readLoop
}

// idle reports whether nothing is pending.
func (q *queue) idle() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.head == nil && q.open == nil
}

// tookBack reports whether writes are stopped and nothing is in flight: the batch that a caller was
// about to write was taken back, so no reply will come.
func (q *queue) tookBack() bool {
	if !q.Withheld() {
		return false
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.head == nil
}

// takeRead takes the right to read for the loop, if nobody has had it since the last call of
// takeRead.
func (q *queue) takeRead(s *Session) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.session != s || q.reading != readNobody || q.read {
		q.read = false
		return false
	}
	q.reading = readLoop
	return true
}

// takePostponed takes the right to write a postponed batch. It returns false if there is none.
func (q *queue) takePostponed(s *Session) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.session != s || q.open == nil || q.writing {
		return false
	}
	q.writing = true
	return true
}

// startYield begins a turn (see [rights]), if one is worth it. It returns the number of the turn,
// or 0. After other goroutines have run, the caller ends the turn with endYield.
func (q *queue) startYield() (turn uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.yield()
}

// yield is startYield for a caller that has the lock.
func (q *queue) yield() (turn uint64) {
	q.yielding, q.yieldedWith = 0, 0
	// While q.pause is not zero, postponing does not pay: the callers do something else between two
	// requests.
	gathered := q.gathers() || q.pause > 0 && q.everywhere < wide && (q.head == nil || q.sinceIdle < burst)
	concurrency := max(q.concurrency, q.everywhere, q.pending)
	if worthYielding(concurrency, crowded(concurrency, q.crowded.Load(), q.light()), gathered) && !q.enough() {
		q.turn++
		q.yielding = q.turn
		if q.open != nil {
			q.yieldedWith = len(q.open.items)
		}
	}
	return q.yielding
}

// endYield ends a turn. mine reports whether the caller still has the right to write. If requests
// have entered during the turn, again is the number of another turn, or 0. If none have entered and
// no caller waits for the last request, its sender may be about to send more. Then, if sender is
// set, endYield passes the right to the writer goroutine, which will take all of these requests
// together.
func (q *queue) endYield(turn uint64, sender bool) (mine bool, again uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.yielding != turn {
		return false, 0
	}
	q.yielding = 0
	switch came := q.open != nil && len(q.open.items) > q.yieldedWith; {
	case came && worthYieldingAgain(q.crowded.Load(), q.others != nil):
		again = q.yield()
	case sender && !came && q.open != nil && q.head != nil && q.open.items[len(q.open.items)-1].caller == nil:
		q.pass(nil, true)
		return false, 0
	}
	return true, again
}

// take puts the open batch in flight. The caller must have the right to write. If there is nothing
// to take, b is nil and the caller loses the right. If asks is set, take asks futures whether they
// are cancelled, which may end the goroutine. The caller must resolve the cancelled items after it
// has written b.
func (q *queue) take(asks bool) (b *batch, cancelled []cancelledItem) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if b = q.takeOpen(); b == nil {
		q.releaseLocked()
		return nil, nil
	}
	if asks && b.customFutures {
		cancelled = q.ask(b)
		q.pending -= len(cancelled)
		q.stats.NotSent += uint64(len(cancelled))
	}
	if b.withdrawn > 0 {
		b.compact()
	}
	q.admitWaiting()
	if len(b.items) > 0 {
		q.fly(b, timing.Clock())
		return b, cancelled
	}
	q.recycle(b)
	q.pass(nil, q.open != nil)
	return nil, cancelled
}

// ask asks the futures of b, without the lock, whether they are cancelled, and marks the cancelled
// ones as withdrawn. If a future ends the goroutine, none counts as cancelled, and the writer
// goroutine gets b and the right to write.
func (q *queue) ask(b *batch) (cancelled []cancelledItem) {
	asked := false
	q.asksFutures = true
	q.mu.Unlock()
	defer func() {
		q.mu.Lock()
		q.asksFutures = false
		if !asked {
			b.compact()
			q.fly(b, timing.Clock())
			q.pass(b, true)
		}
	}()
	cancelled = b.cancelled()
	asked = true
	return cancelled
}

// pass passes the right to write to the writer goroutine. b, if not nil, is a batch in flight that
// must be written first. If there is neither b nor an open batch, or no session, pass releases the
// right.
func (r *rights) pass(b *batch, open bool) {
	if r.session == nil || b == nil && !open {
		r.releaseLocked()
		return
	}
	r.session.wake <- b // does not block: wake has room for one, and there is only one right to write
}

// awaitRelease returns when nobody has the right to write.
func (q *queue) awaitRelease() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.awaitReleaseLocked()
}

// awaitReleaseLocked is awaitRelease for a caller that has the lock. It releases the lock while it
// waits.
func (q *queue) awaitReleaseLocked() {
	for q.writing {
		q.awaitReleasedLocked()
	}
}

// awaitReleasedLocked waits until the right to write is released the next time. It releases the lock
// while it waits.
func (q *queue) awaitReleasedLocked() {
	if q.released == nil {
		q.released = make(chan struct{})
	}
	released := q.released
	q.mu.Unlock()
	<-released
	q.mu.Lock()
}
