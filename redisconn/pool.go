package redisconn

import (
	"container/list"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/redis"
)

// unusedMost is for how long a dedicated connection may be idle. A queue worker comes
// back much sooner; what a burst has made is given back to the server after it.
const unusedMost = time.Minute

// pool has the dedicated connections to a server. Whoever wants one enters, and is
// granted one, or a place for one that is to be made, first come first served.
type pool struct {
	// ctx ends when the pool takes nobody any more, and who blocks is to be unblocked.
	ctx   context.Context
	drain context.CancelFunc
	most  int // connections
	queue int // who may wait

	mu      sync.Mutex // guards the rest
	places  int        // that are granted: each has a connection, or makes one
	blocks  int        // commands that block, or may, on connections with a place
	idle    []*dedicated
	waiting list.List // of borrower
	all     map[*dedicated]struct{}
	// generation is how often the credentials have changed, to cr at last: what was
	// greeted before is not used again, unless it is greeted anew.
	generation uint64
	cr         Credentials
	sweeper    *time.Timer // runs while connections are idle
	closed     bool
	calm       chan struct{} // closed when the pool is drained and nothing blocks
	empty      chan struct{} // closed when the pool is drained and no place is granted
}

// borrower is who wants a dedicated connection. It is called once, outside of every
// lock, unless it has left before.
type borrower interface {
	// grant gives it a connection, or a place for one that it is to make if d is nil.
	// It must not wait.
	grant(d *dedicated)
	// refuse says that there will be none.
	refuse(err *errorx.Error)
}

// newPool makes a pool, which is drained when ctx ends.
func newPool(ctx context.Context, opts *Opts) *pool {
	p := &pool{
		most: opts.DedicatedConns, queue: opts.MaxRequests, all: map[*dedicated]struct{}{},
		calm: make(chan struct{}), empty: make(chan struct{}),
	}
	p.ctx, p.drain = context.WithCancel(ctx)
	return p
}

// enter grants b a connection, or has it wait. The returned function takes it back
// out of those who wait, and reports whether it was there: nothing is called then.
func (p *pool) enter(b borrower) (leave func() bool, refused *errorx.Error) {
	p.mu.Lock()
	switch {
	case p.ctx.Err() != nil:
		refused = errClosed()
	case p.waiting.Len() > 0 || p.places == p.most:
		if p.waiting.Len() >= p.queue {
			refused = redis.ErrQueueFull.New("%d requests wait for a dedicated connection", p.queue)
			break
		}
		waiting := p.waiting.PushBack(b)
		p.mu.Unlock()
		return func() bool { return p.stopWaiting(waiting) }, nil
	default:
		p.places++
		d := p.lastIdleLocked()
		p.mu.Unlock()
		b.grant(d)
		return func() bool { return false }, nil
	}
	p.mu.Unlock()
	return nil, refused
}

func (p *pool) stopWaiting(waiting *list.Element) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.waiting.Len()
	p.waiting.Remove(waiting)
	return p.waiting.Len() < before
}

// nextIdle takes another idle connection for a place that is granted: nil if there is
// none.
func (p *pool) nextIdle() *dedicated {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lastIdleLocked()
}

// lastIdleLocked takes the idle connection that was used last. Whether it is alive its
// borrower finds out.
func (p *pool) lastIdleLocked() *dedicated {
	last := len(p.idle) - 1
	if last < 0 {
		return nil
	}
	d := p.idle[last]
	p.idle[last] = nil
	p.idle = p.idle[:last]
	return d
}

// made adds a connection that was made, and returns how many there are: 0 if the pool is
// closed.
func (p *pool) made(d *dedicated) (open int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return 0
	}
	p.all[d] = struct{}{}
	return len(p.all)
}

// current returns the generation of what is greeted from here on.
func (p *pool) current() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.generation
}

// update brings a connection that is about to be greeted anew to the present generation.
func (p *pool) update(d *dedicated) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if d.generation != p.generation {
		d.generation, d.cr = p.generation, p.cr
	}
}

// outdate has no connection used again that was greeted before: the credentials have
// changed.
func (p *pool) outdate(cr Credentials) {
	p.mu.Lock()
	p.generation++
	p.cr = cr
	idle := p.idle
	p.idle = nil
	p.mu.Unlock()
	for _, d := range idle {
		p.drop(d)
	}
}

// giveBack gives a place back, with its connection if that is as new. It goes to whoever
// waits for one. A connection that is not as new is closed first, since its place bounds how many
// there are.
func (p *pool) giveBack(d *dedicated, asNew bool) {
	p.mu.Lock()
	if d != nil && !(asNew && d.generation == p.generation) {
		p.mu.Unlock()
		p.drop(d)
		d = nil
		p.mu.Lock()
	}
	if p.closed {
		d = nil // close has closed it
	}
	if first := p.waiting.Front(); first != nil {
		p.waiting.Remove(first)
		p.mu.Unlock()
		first.Value.(borrower).grant(d)
		return
	}
	p.places--
	if d != nil {
		d.used = time.Now()
		p.idle = append(p.idle, d)
		if p.sweeper == nil {
			p.sweeper = time.AfterFunc(unusedMost, p.sweep)
		}
	}
	p.drainedLocked()
	p.mu.Unlock()
}

// sweep closes what has been idle for long. The timer's goroutine ends with it.
func (p *pool) sweep() {
	p.mu.Lock()
	unused := 0
	for unused < len(p.idle) && time.Since(p.idle[unused].used) >= unusedMost {
		unused++
	}
	old := slices.Clone(p.idle[:unused])
	p.idle = slices.Delete(p.idle, 0, unused)
	p.sweeper = nil
	if len(p.idle) > 0 {
		p.sweeper = time.AfterFunc(unusedMost-time.Since(p.idle[0].used), p.sweep)
	}
	p.mu.Unlock()
	for _, d := range old {
		p.drop(d)
	}
}

// drop closes a connection that is not idle. If it has a place, that stays granted.
func (p *pool) drop(d *dedicated) {
	p.mu.Lock()
	delete(p.all, d)
	p.mu.Unlock()
	_ = d.Close()
}

// left returns how many have a connection, or make one, and how many wait.
func (p *pool) left() (granted, waiting int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.places, p.waiting.Len()
}

// sizes returns how many connections there are, how many of them nobody uses, and how
// many wait.
func (p *pool) sizes() (open, idle, waiting int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.all), len(p.idle), p.waiting.Len()
}
