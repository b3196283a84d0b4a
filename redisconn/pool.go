package redisconn

import (
	"container/list"
	"context"
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
	idle    []*dedicated
	waiting list.List // of borrower
	all     map[*dedicated]struct{}
	sweeper *time.Timer // runs while connections are idle
	closed  bool
	empty   chan struct{} // closed when the pool is drained and no place is granted
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

func newPool(opts *Opts) *pool {
	p := &pool{most: opts.DedicatedConns, queue: opts.MaxRequests, all: map[*dedicated]struct{}{}, empty: make(chan struct{})}
	p.ctx, p.drain = context.WithCancel(context.Background())
	return p
}

// enter grants b a connection, or has it wait. The returned function takes it back
// out of those who wait, and reports whether it was there: nothing is called then.
func (p *pool) enter(b borrower) (leave func() bool, refused *errorx.Error) {
	p.mu.Lock()
	switch {
	case p.closed || p.ctx.Err() != nil:
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
		d := p.takeIdleLocked()
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

// takeIdleLocked returns the connection that was used last and is still alive, or nil.
func (p *pool) takeIdleLocked() *dedicated {
	for len(p.idle) > 0 {
		last := len(p.idle) - 1
		d := p.idle[last]
		p.idle[last] = nil
		p.idle = p.idle[:last]
		if d.quiet() {
			return d
		}
		p.dropLocked(d)
	}
	return nil
}

// made adds a connection that was made. It returns false if the pool is closed.
func (p *pool) made(d *dedicated) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.all[d] = struct{}{}
	}
	return !p.closed
}

// giveBack gives a place back, with its connection if that is as new. It goes to whoever
// waits for one.
func (p *pool) giveBack(d *dedicated, asNew bool) {
	p.mu.Lock()
	if d != nil && (!asNew || p.closed) {
		p.dropLocked(d)
		d = nil
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
	p.emptyLocked()
	p.mu.Unlock()
}

// sweep closes what has been idle for long. The timer's goroutine ends with it.
func (p *pool) sweep() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.idle) > 0 && time.Since(p.idle[0].used) >= unusedMost {
		p.dropLocked(p.idle[0])
		p.idle = p.idle[1:]
	}
	p.sweeper = nil
	if len(p.idle) > 0 {
		p.sweeper = time.AfterFunc(unusedMost-time.Since(p.idle[0].used), p.sweep)
	}
}

// dropLocked closes a connection: that does not wait.
func (p *pool) dropLocked(d *dedicated) {
	delete(p.all, d)
	_ = d.Close()
}

// drop closes a connection whose place stays granted.
func (p *pool) drop(d *dedicated) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dropLocked(d)
}

// shut lets nobody in any more, refuses who waits, and has ended what blocks. The
// channel is closed when all connections are given back.
func (p *pool) shut() <-chan struct{} {
	p.drain()
	p.mu.Lock()
	var refused []borrower
	for first := p.waiting.Front(); first != nil; first = p.waiting.Front() {
		refused = append(refused, p.waiting.Remove(first).(borrower))
	}
	p.emptyLocked()
	p.mu.Unlock()
	for _, b := range refused {
		b.refuse(errClosed())
	}
	return p.empty
}

func (p *pool) emptyLocked() {
	if p.places > 0 || p.ctx.Err() == nil {
		return
	}
	select {
	case <-p.empty:
	default:
		close(p.empty)
	}
}

// close closes all connections. Their users' next reads and writes fail.
func (p *pool) close() {
	p.mu.Lock()
	p.closed = true
	if p.sweeper != nil {
		p.sweeper.Stop()
		p.sweeper = nil
	}
	for d := range p.all {
		p.dropLocked(d)
	}
	p.idle = nil
	p.mu.Unlock()
	p.shut()
}

// counts returns how many have a connection, or make one, and how many wait.
func (p *pool) counts() (granted, waiting int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.places, p.waiting.Len()
}
