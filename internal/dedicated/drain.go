package dedicated

import (
	"container/list"
	"maps"
	"slices"

	"github.com/joomcode/redispipe/internal/life"
)

// begin notes a command that is about to block, until end is called with the place that begin
// returns: nil, if the pool is being drained.
func (p *Pool) begin(unblock func()) *list.Element {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ctx.Err() != nil {
		return nil
	}
	return p.blocked.PushBack(unblock)
}

func (p *Pool) end(place *list.Element) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.blocked.Remove(place)
	p.drainedLocked()
}

// unblockAll has all commands unblocked, when the pool is drained.
func (p *Pool) unblockAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for place := p.blocked.Front(); place != nil; place = place.Next() {
		place.Value.(func())()
	}
}

// Shut admits no more users, refuses those that wait, and has blocking commands unblocked.
// The channel is closed when no command blocks.
func (p *Pool) Shut() <-chan struct{} {
	p.drain(life.Closed("the pool is shut"))
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drainedLocked()
	return p.calm
}

// EndWrites ends writes on dedicated connections that wait for their sockets.
func (p *Pool) EndWrites() {
	p.mu.Lock()
	all := slices.Collect(maps.Keys(p.all))
	p.mu.Unlock()
	for _, c := range all {
		c.EndWrites()
	}
}

// Drained returns a channel that is closed when the pool is shut and all connections are
// released.
func (p *Pool) Drained() <-chan struct{} { return p.empty }

// drainedLocked closes the channels calm and empty when their conditions hold.
func (p *Pool) drainedLocked() {
	if p.ctx.Err() == nil {
		return
	}
	if p.blocked.Len() == 0 {
		closeOnce(p.calm)
	}
	if p.places+p.refused+p.waiting.Len() == 0 {
		closeOnce(p.empty)
	}
}

func closeOnce(ch chan struct{}) {
	select {
	case <-ch:
	default:
		close(ch)
	}
}

// Close closes all connections. Their users notice by the errors.
func (p *Pool) Close() {
	p.mu.Lock()
	p.closed = true
	if p.sweeper != nil {
		p.sweeper.Stop()
		p.sweeper = nil
	}
	all := p.all
	p.all, p.idle = nil, nil
	p.mu.Unlock()
	p.Shut()
	for c := range all {
		_ = c.Close()
	}
}
