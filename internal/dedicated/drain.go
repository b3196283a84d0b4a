package dedicated

import (
	"maps"
	"slices"
	"time"
)

// begin says that a command is about to block, which end takes back. It returns false
// if none may any more.
func (p *Pool) begin() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ctx.Err() != nil {
		return false
	}
	p.blocks++
	return true
}

func (p *Pool) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.blocks--
	p.drainedLocked()
}

// Shut admits nobody any more, refuses those who wait, and has blocking commands unblocked.
// The channel is closed when nothing blocks.
func (p *Pool) Shut() <-chan struct{} {
	p.drain()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drainedLocked()
	return p.calm
}

// EndWrites ends the writes on dedicated connections that wait for their sockets to take
// more.
func (p *Pool) EndWrites() {
	p.mu.Lock()
	all := slices.Collect(maps.Keys(p.all))
	p.mu.Unlock()
	for _, c := range all {
		_ = c.SetWriteDeadline(time.Unix(1, 0))
	}
}

// Drained returns what is closed when the pool takes nobody any more, and all
// connections are given back.
func (p *Pool) Drained() <-chan struct{} { return p.empty }

// drainedLocked closes what tells that the pool is drained, as far as it is.
func (p *Pool) drainedLocked() {
	if p.ctx.Err() == nil {
		return
	}
	if p.blocks == 0 {
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

// Close closes all connections. Their users find that out.
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
