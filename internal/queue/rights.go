package queue

import (
	"sync/atomic"

	"github.com/joomcode/redispipe/internal/timing"
	"github.com/joomcode/redispipe/internal/wire"
)

// rights are the two rights of a connection, each with one holder at a time. They change
// hands under Queue.mu; the holder acts without the lock, and passes the right on.
//
// The right to write is the right to take the open batch and write it. It goes to
// the sender that finds it free, which writes without blocking. What the socket does
// not take at once, and what has come in the meantime, goes with the right to the
// writer goroutine. A sender that lets others run first (yields) can lose the right to
// one whose request fills the batch.
//
// Nobody has it while the open batch is postponed: see policy.go.
//
// The right to read goes to the oldest request that waits for its reply: its caller
// reads, in its own goroutine, up to its own reply, and passes the right to the
// oldest request that is left (see [wire.Reader]). So each caller decodes its
// own reply, and at low concurrency nobody runs but callers.
//
//	              ┌── the oldest is a caller's ──► caller ──┐
//	nobody ──► a request comes                       │      │ its reply is read, or its
//	   ▲          └── it is another future's ──► loop │      │ context has ended
//	   │                                          ▲   └──────┤
//	   └──────── nothing is pending ──────────────┴──────────┘
//
// The reader goroutine (loop) has it in a crowd (see [Queue.Crowded]), when the oldest request has a
// future of the user's, which must not run in a caller's goroutine, or when nobody waits for
// the oldest; of a session without MayPass it always has it. When nothing is pending nobody has
// it, because waking the loop for each lone request would cost a third of its time. The next
// to write first checks whether the server has closed the socket or has sent what nobody
// asked for, and the loop takes the right when nobody has read for a while. If the socket
// can't be checked, and with RESP3, which has pushes, the loop has the right instead of
// nobody.
//
// If nobody reads, nothing is pending and nobody writes. So a request that finds the
// right to read free finds both free. If a caller waits for it, that caller checks, writes
// and then reads, even if another goroutine has sent the request. Otherwise the sender
// checks, and wakes the loop before it writes.
type rights struct {
	session *Session // set while connected

	writing bool
	// yielding is the number of the turn in which the holder of the right to write
	// lets others run. They may take the right over by clearing yielding.
	yielding, turn uint64
	yieldedWith    int // requests in the open batch when it began to
	// released is closed when writing is cleared, if anybody asked.
	released chan struct{}

	reading readHolder
	// read is set when anybody has read, and cleared by TakeRead.
	read bool
}

// readHolder says which goroutine has the right to read.
type readHolder uint8

const (
	readNobody readHolder = iota
	readLoop
	readCaller
)

// Session is what the queue knows of the socket that it is connected to: to whom the rights
// go. All but Both, Listens and first stays as it is.
type Session struct {
	// Reader is what callers that get the right to read use.
	Reader wire.Reader
	// Wake passes the right to write to the writer goroutine, with a batch in flight that
	// is not written, or not whole, or nil for the open batch. It has room for one.
	Wake chan *Batch
	// MayPass: callers may read. MayExchange: a caller that has both rights may write and
	// wait for the reply in one step (an exchange).
	MayPass, MayExchange bool
	// Calls measures what futures take.
	Calls *timing.Callbacks
	// Received returns how many bytes were received.
	Received func() int64

	// Both: the caller that has the right to read also has the right to write, and has to
	// use that first. It belongs to the holder of the right to read.
	Both bool
	// Listens: the caller that has the right to read has to listen to its context from now on.
	// It is written under the lock, and does not outlast the right.
	Listens atomic.Bool
	// first is the batch that the holder of the right to write has to write first. It is
	// already in flight, and nothing else is. It belongs to whoever takes it out of here:
	// that holder or, under the lock, a goroutine that withdraws it.
	first atomic.Pointer[Batch]
}

// TakeFirst takes out the batch that is in flight already, though nobody has begun to write
// it. It returns nil if there is none.
func (s *Session) TakeFirst() *Batch {
	if s.first.Load() == nil {
		return nil
	}
	return s.first.Swap(nil)
}

// release gives up the right to write.
func (r *rights) release() {
	r.writing = false
	if r.released != nil {
		close(r.released)
		r.released = nil
	}
}

// pass passes the right to write to the writer goroutine. b, if not nil, is a batch in flight
// that is to be written first. It gives the right up if there is neither b nor an open batch,
// or no session.
func (r *rights) pass(b *Batch, open bool) {
	if r.session == nil || b == nil && !open {
		r.release()
		return
	}
	r.session.Wake <- b // has room, since there is only one such right
}

// Release gives up the right to write.
func (q *Queue) Release() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.release()
}

// AwaitRelease returns when nobody has the right to write.
func (q *Queue) AwaitRelease() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.awaitRelease()
}

// awaitRelease is AwaitRelease for a caller that has the lock, which it releases while it
// waits.
func (q *Queue) awaitRelease() {
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

// TakePostponed takes the right to write a batch that was postponed. It returns false
// if there is none.
func (q *Queue) TakePostponed(s *Session) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.session != s || q.open == nil || q.writing {
		return false
	}
	q.writing = true
	return true
}

// PassRead passes the right to read of a session on. mayIdle is set if nobody needs the right
// while nothing is pending; retired, if not nil, is an answered batch that is still in
// flight. It returns true if the loop gets the right: a caller that passes it on has to wake
// the loop.
func (q *Queue) PassRead(s *Session, mayIdle bool, retired *Batch) (loop bool) {
	q.mu.Lock()
	long := retired != nil && q.retire(retired, timing.Clock())
	if q.session == s { // a session that has failed has nothing to read
		s.Listens.Store(false)
		q.reading = q.nextReader(s, mayIdle)
		q.read = q.read || q.reading == readCaller
		loop = q.reading == readLoop
	}
	q.mu.Unlock()
	if long {
		q.recycleLong(retired)
	}
	return loop
}

// LoopReads gives the right to read from a caller to the loop, which has to be woken.
func (q *Queue) LoopReads(s *Session) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.session == s {
		q.reading = readLoop
	}
}

// offersMost bounds how many requests are searched for the next caller that can read:
// callers whose contexts have ended can't.
const offersMost = 32

// nextReader returns the next holder of the right to read, and gives it to that one if it
// is a caller.
func (q *Queue) nextReader(s *Session, mayIdle bool) readHolder {
	b := q.head
	switch {
	case b == nil && q.open == nil && mayIdle && !q.writing:
		return readNobody
	case b == nil && q.asking || !s.MayPass || crowded(q.concurrency):
		return readLoop
	case b == nil:
		b = q.open
	}
	offers := 0
	for ; b != nil; b = b.Next {
		for i := int(b.claimed.Load()); i < len(b.Items) && offers < offersMost; i++ {
			offers++
			it := &b.Items[i]
			if it.Future == nil {
				continue // without a future, anybody may read its reply
			}
			if it.Caller == nil {
				return readLoop
			}
			postponed := b == q.open && !q.writing
			s.Both = postponed
			if it.Caller.GiveRead(wire.ReadRight{Reader: s.Reader, Last: b.lastOf(i)}) {
				q.writing = q.writing || postponed
				return readCaller
			}
			s.Both = false
		}
	}
	return readLoop
}

// Idle reports whether nothing is pending.
func (q *Queue) Idle() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.head == nil && q.open == nil
}

// InFlight reports whether anything is in flight.
func (q *Queue) InFlight() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.head != nil
}

// TakeRead takes the right to read for the loop, if nobody has had the right since the
// last call of TakeRead.
func (q *Queue) TakeRead(s *Session) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.session != s || q.reading != readNobody || q.read {
		q.read = false
		return false
	}
	q.reading = readLoop
	return true
}
