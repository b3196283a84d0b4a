// Package queue is where requests are between being encoded and being resolved: in the open
// batch until they are written, and in batches in flight until they are answered. It says
// who may write and who may read; what it says is done in package pipe. It does no I/O,
// resolves nothing and logs nothing, so that none of that is ever done under its lock.
package queue

import (
	"context"
	"sync"
	"sync/atomic"
)

// Opts are the options of a queue.
type Opts struct {
	// Ctx is the connection's: nothing enters when it has ended.
	Ctx context.Context
	// MaxRequests and MaxBytes bound what is pending, and what is not taken of that.
	MaxRequests, MaxBytes int
	// Fenced has each batch end with a PING: see [Batch.Fence].
	Fenced bool
	// Postpones: batches may wait for more, see postpone.go.
	Postpones bool
}

// Queue is where requests enter.
type Queue struct {
	ctx       context.Context
	fenced    bool
	postpones bool

	mu sync.Mutex // guards these five, and several
	gate
	flight
	rights
	meter
	listening
	several bool // see Several

	// load is concurrency, to be read without the lock.
	load atomic.Int64
	// withheld is set by Withhold, under the lock, and never cleared.
	withheld atomic.Bool
}

// New makes a queue. It is disconnected.
func New(o Opts) *Queue {
	q := &Queue{ctx: o.Ctx, fenced: o.Fenced, postpones: o.Postpones}
	q.maxRequests, q.maxBytes = o.MaxRequests, o.MaxBytes
	return q
}

// Several says whether those who send through the queue send to other servers, too.
func (q *Queue) Several(several bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.several = several
}

// Load returns how many requests are sent at once, as of late.
func (q *Queue) Load() int { return int(q.load.Load()) }

// Withheld reports whether nothing of the users' is written any more.
func (q *Queue) Withheld() bool { return q.withheld.Load() }
