package queue

import (
	"github.com/joomcode/redispipe/internal/timing"
	"github.com/joomcode/redispipe/internal/wire"
)

// PassRead passes the right to read of a session on. mayIdle is set if nobody needs the right
// while nothing is pending; retired, if not nil, is an answered batch that is still in
// flight. loop is set if the loop gets the right: a caller that passes it on has to
// wake the loop. If kept is set, s has ended, has nothing to read, and nobody gets the right.
func (q *Queue) PassRead(s *Session, mayIdle bool, retired *Batch) (loop, kept bool) {
	q.mu.Lock()
	long := retired != nil && q.retire(retired, timing.Clock())
	if kept = q.session != s; !kept {
		s.Listens.Store(false)
		q.reading = q.nextReader(s, mayIdle)
		q.read = q.read || q.reading == readCaller
		loop = q.reading == readLoop
	}
	q.mu.Unlock()
	if long {
		q.recycleLong(retired)
	}
	return loop, kept
}

// LoopReads gives the right to read from a caller to the loop, which has to be woken. It
// returns false if s has ended: then the caller keeps the right.
func (q *Queue) LoopReads(s *Session) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.session != s {
		return false
	}
	q.reading = readLoop
	return true
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
