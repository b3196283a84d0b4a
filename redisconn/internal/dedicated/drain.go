package dedicated

import (
	"maps"
	"slices"

	"github.com/joomcode/redispipe/internal/lifetime"
)

// Shut admits no more users, refuses those that wait, and starts to unblock blocking commands. Reads that
// wait are sent on the shared connection, so call Shut while that still accepts requests. The returned
// channel is closed when no command blocks.
func (p *Pool) Shut() <-chan struct{} {
	p.drain(lifetime.Closed("the pool is shut"))
	p.mu.Lock()
	left := p.takeReadsLocked()
	p.mu.Unlock()
	passOn(left)
	return p.blocking.Shut()
}

// EndWrites interrupts the writes on dedicated connections that wait for their sockets.
func (p *Pool) EndWrites() {
	p.mu.Lock()
	all := slices.Collect(maps.Keys(p.all))
	p.mu.Unlock()
	for _, c := range all {
		c.EndWrites()
	}
}

// Drained returns a channel that is closed when all connections are released. Shut must be called
// first.
func (p *Pool) Drained() <-chan struct{} { return p.users.Shut() }

// Close closes all connections. Their users get errors.
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
