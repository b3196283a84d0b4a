package route

import (
	"sync"
	"time"

	"github.com/joomcode/redispipe/internal/histogram"
	"github.com/joomcode/redispipe/internal/timing"
)

// Reads are the reads of a node that may also be sent to a second node: those that wait for their
// answers, and how long recent answers took. The zero value is ready.
type Reads struct {
	mu          sync.Mutex // guards the fields below, and the fields of each Read that say so
	first, last *Read      // the reads that wait, roughly in the order in which they were sent
	taken       histogram.Sparse
	slow        time.Duration // see slowShare; it at most doubles at a time; 0 until it is known
}

// Read is a read that may also be sent to a second node.
type Read struct {
	// Hedge sends the read to a second node.
	Hedge interface{ Hedge() }
	// Since is the time just before it was sent, by timing.Clock.
	Since time.Duration
	// Reads.mu guards the rest.
	prev, next   *Read
	waits, ended bool
}

const (
	// A read may be sent to a second node once it has waited longer than the share slowShare of the
	// last slowOf answers took or, at first, than that share of the first slowFirst.
	slowShare = 0.95
	slowOf    = 256
	slowFirst = 32
)

// Begin adds a read that was sent, unless it has ended.
func (r *Reads) Begin(read *Read) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if read.ended {
		return
	}
	read.waits = true
	if read.prev = r.last; r.last != nil {
		r.last.next = read
	} else {
		r.first = read
	}
	r.last = read
}

// End removes a read that has ended, and says whether it was answered.
func (r *Reads) End(read *Read, answered bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.remove(read)
	read.ended = true
	if !answered {
		return
	}
	r.taken.Add(timing.Clock()-read.Since, 1)
	if n := r.taken.Count(); n >= slowOf || r.slow == 0 && n >= slowFirst {
		all := r.taken.Histogram()
		slow := all.Quantile(slowShare)
		if r.slow > 0 {
			slow = min(slow, 2*r.slow) // after a stall all answers are slow: do not let them raise the limit at once
		}
		r.slow, r.taken = slow, histogram.Sparse{}
	}
}

func (r *Reads) remove(read *Read) {
	if !read.waits {
		return
	}
	read.waits = false
	if read.prev != nil {
		read.prev.next = read.next
	} else {
		r.first = read.next
	}
	if read.next != nil {
		read.next.prev = read.prev
	} else {
		r.last = read.prev
	}
	read.prev, read.next = nil, nil
}

// Overdue removes and returns the reads that have waited for too long, oldest first, while may
// allows it. may is called with the time that the next read has waited, and the time within which
// the share slowShare of the answers arrive. busy is set if other reads are still waiting.
func (r *Reads) Overdue(now time.Duration, may func(waited, slow time.Duration) bool) (overdue []*Read, busy bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.first != nil && r.slow > 0 && may(now-r.first.Since, r.slow) {
		overdue = append(overdue, r.first)
		r.remove(r.first)
	}
	return overdue, r.first != nil
}
