package redisconn

import (
	"time"

	"github.com/joomcode/redispipe/internal/wire"
)

// A connection has two rights, each with one holder at a time. They change hands under
// queue.mu; the holder acts without the lock, and passes the right on.
//
// The right to write is the right to take the open batch and write it. It goes to
// the sender that finds it free, which writes without blocking. What the socket does
// not take at once, and what has come in the meantime, goes with the right to the
// writer goroutine. A sender that lets others run first (yields) can lose the right to
// one whose request fills the batch.
//
// Nobody has it while the open batch is postponed: see postpone.go.
//
// The right to read goes to the oldest request that waits for its reply: its caller
// reads, in its own goroutine, up to its own reply, and passes the right to the
// oldest request that is left (see [session.ReadUntil]). So each caller decodes its
// own reply, and at low concurrency nobody runs but callers.
//
//	              ┌── the oldest is a caller's ──► caller ──┐
//	nobody ──► a request comes                       │      │ its reply is read, or its
//	   ▲          └── it is another future's ──► loop │      │ context has ended
//	   │                                          ▲   └──────┤
//	   └──────── nothing is pending ──────────────┴──────────┘
//
// The reader goroutine (loop) has it when the oldest request has a future of the
// user's, which must not run in a caller's goroutine, or when nobody waits for the
// oldest; with Opts.Integrity it always has it. When nothing is pending nobody has it,
// because waking the loop for each lone request would cost a third of its time. The next
// to write first checks whether the server has closed the socket or has sent what nobody
// asked for, and the loop takes the right when nobody has read for idleMost. If the socket
// can't be checked, and with RESP3, which has pushes, the loop has the right instead of
// nobody.
//
// If nobody reads, nothing is pending and nobody writes. So a request that finds the
// right to read free finds both free. If a caller waits for it, that caller checks, writes
// and then reads, even if another goroutine has sent the request. Otherwise the sender
// checks, and wakes the loop before it writes.
type rights struct {
	writing bool
	// yielding is the number of the turn in which the holder of the right to write
	// lets others run. They may take the right over by clearing yielding.
	yielding, turn uint64
	yieldedWith    int // requests in the open batch when it began to
	// released is closed when writing is cleared, if anybody asked.
	released chan struct{}

	reading readHolder
	// read is set when anybody has read, and cleared by takeRead.
	read bool
}

// readHolder says which goroutine has the right to read.
type readHolder uint8

const (
	readNobody readHolder = iota
	readLoop
	readCaller
)

// duty is what the sender of a request that has entered has to do, and what it has to
// know for that. It is returned for each request in a register: as a struct it took
// 20 ns more.
type duty uint8

const (
	dutyCheck duty = 1 << iota // before it writes: nobody has read since the last reply
	dutyWake                   // pass the right to read to the loop, before it writes
	dutyWrite
	inFlightNone // all that was written before has been read
)

// dutyLocked gives the rights that are free to the sender of the last requests of the
// open batch, or to the caller that waits for them.
func (q *queue) dutyLocked() (s *session, d duty) {
	if s = q.session; s == nil {
		return nil, 0
	}
	switch {
	case q.yielding != 0 && q.enoughLocked(q.concurrency):
		q.yielding = 0 // the right to write is taken over
		d = dutyWrite
	case q.writing:
	case !q.postponableLocked():
		q.writing = true
		d = dutyWrite
	case q.postponed.since == 0:
		q.postponed.since = q.opened
	}
	if q.head == nil {
		d |= inFlightNone
	}
	if q.reading != readNobody {
		return s, d
	}
	// A caller that is to read checks and writes, too: nobody else may touch the
	// socket once it has the right.
	last := &q.open.items[len(q.open.items)-1]
	s.unwritten = true
	if last.waits && wire.GiveRead(last.fut, wire.ReadRight{Reader: s, Last: last.seq}) {
		q.reading, q.read = readCaller, true
		return nil, 0
	}
	s.unwritten = false
	q.reading = readLoop
	return s, d | dutyCheck | dutyWake
}

// passRead passes the right to read of a session on; mayIdle is whether nobody needs to
// have it when nothing is pending. It returns true if the loop has it, and is to be
// woken if the right was not its own.
func (q *queue) passRead(s *session, mayIdle bool) (loop bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.session != s {
		return false // a session that has failed has nothing to read
	}
	q.reading = q.nextReaderLocked(s, mayIdle)
	q.read = q.read || q.reading == readCaller
	return q.reading == readLoop
}

// loopReads gives the right to read, which is a caller's, to the loop, which has to be woken.
func (q *queue) loopReads(s *session) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.session == s {
		q.reading = readLoop
	}
}

// offersMost bounds how many requests are looked at for the next to read: so many
// callers whose contexts have ended are passed over.
const offersMost = 32

// nextReaderLocked returns the next holder of the right to read, and gives it to that
// one if it is a caller.
func (q *queue) nextReaderLocked(s *session, mayIdle bool) readHolder {
	b := q.head
	switch {
	case b == nil && q.open == nil && mayIdle && !q.writing:
		return readNobody
	case b == nil && q.asking || !s.reader.mayPass:
		return readLoop
	case b == nil:
		b = q.open
	}
	offers := 0
	for ; b != nil; b = b.next {
		for i := int(b.claimed.Load()); i < len(b.items) && offers < offersMost; i++ {
			offers++
			it := &b.items[i]
			if it.fut == nil {
				continue // anybody may resolve nothing
			}
			if !it.waits {
				return readLoop
			}
			postponed := b == q.open && !q.writing
			s.unwritten = postponed
			if wire.GiveRead(it.fut, wire.ReadRight{Reader: s, Last: b.lastOf(i)}) {
				q.writing = q.writing || postponed
				return readCaller
			}
			s.unwritten = false
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

// takeRead takes the right to read for the loop, if nobody has had it since it
// was called last.
func (q *queue) takeRead(s *session) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.session != s || q.reading != readNobody || q.read {
		q.read = false
		return false
	}
	q.reading = readLoop
	return true
}

// startYield returns the number of the turn in which to let other goroutines run before
// the batch is taken, or 0. After the turn, call endYield.
func (q *queue) startYield() (turn uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.yieldLocked()
}

// yieldLocked starts a turn in which other goroutines run, if that is worth it, and returns
// its number; otherwise 0.
func (q *queue) yieldLocked() (turn uint64) {
	n := max(q.concurrency, q.pending)
	q.yielding, q.yieldedWith = 0, 0
	// If postponing has not paid, and nothing is in flight, callers do something else.
	gathered := q.gathersLocked() || q.pause > 0 && q.head == nil
	if worthYielding(n, gathered) && !q.enoughLocked(n) {
		q.turn++
		q.yielding = q.turn
		if q.open != nil {
			q.yieldedWith = len(q.open.items)
		}
	}
	return q.yielding
}

// endYield reports whether the caller still has the right to write. again is the number of
// the next turn in which to let others run, if requests have come meanwhile, or 0.
func (q *queue) endYield(turn uint64) (mine bool, again uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.yielding != turn {
		return false, 0
	}
	q.yielding = 0
	if worthYieldingAgain(q.concurrency, q.several) && q.open != nil && len(q.open.items) > q.yieldedWith {
		again = q.yieldLocked()
	}
	return true, again
}

// releaseLocked gives up the right to write.
func (q *queue) releaseLocked() {
	q.writing = false
	if q.released != nil {
		close(q.released)
		q.released = nil
	}
}

// release gives up the right to write.
func (q *queue) release() {
	q.mu.Lock()
	q.releaseLocked()
	q.mu.Unlock()
}

// passLocked passes the right to write to the writer, with a batch in flight if not
// nil, or gives it up if there is nothing to write, or nobody.
func (q *queue) passLocked(partial *batch) {
	if q.session == nil || partial == nil && q.open == nil {
		q.releaseLocked()
		return
	}
	q.session.partial = partial
	q.session.wake <- struct{}{} // has room: there is one right
}

// awaitReleaseLocked waits, without the lock, until nobody has the right to write.
func (q *queue) awaitReleaseLocked() {
	for q.writing {
		if q.released == nil {
			q.released = make(chan struct{})
		}
		released := q.released
		q.mu.Unlock()
		<-released
		q.mu.Lock()
	}
}

// idleMost is how often the loop looks whether anybody reads. A socket on which nobody has
// read since it looked last is read by the loop: a connection that the server closes is
// noticed after 10 to 20 ms. A hundred wake-ups a second beside a lone caller are too few to be
// measured.
const idleMost = 10 * time.Millisecond
