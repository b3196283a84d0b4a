package redisconn

import (
	"maps"
	"slices"
	"time"
)

// begin says that a command is about to block, which end takes back. It returns false
// if none may any more.
func (p *pool) begin() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ctx.Err() != nil {
		return false
	}
	p.blocks++
	return true
}

func (p *pool) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.blocks--
	p.drainedLocked()
}

// shut admits nobody any more, refuses the borrowers that wait, and has blocking commands
// unblocked. The channel is closed when nothing blocks. Each borrower is refused in a
// goroutine of its own, since a future may block it, and has a place until then.
func (p *pool) shut() <-chan struct{} {
	p.drain()
	p.mu.Lock()
	var refused []borrower
	for first := p.waiting.Front(); first != nil; first = p.waiting.Front() {
		refused = append(refused, p.waiting.Remove(first).(borrower))
	}
	p.places += len(refused)
	p.drainedLocked()
	p.mu.Unlock()
	for _, b := range refused {
		go func() {
			defer p.giveBack(nil, false)
			b.refuse(errClosed())
		}()
	}
	return p.calm
}

// endWrites ends the writes on dedicated connections that wait for their sockets to take
// more.
func (p *pool) endWrites() {
	p.mu.Lock()
	all := slices.Collect(maps.Keys(p.all))
	p.mu.Unlock()
	for _, d := range all {
		_ = d.SetWriteDeadline(time.Unix(1, 0))
	}
}

// drained returns what is closed when the pool takes nobody any more, and all
// connections are given back.
func (p *pool) drained() <-chan struct{} { return p.empty }

// drainedLocked closes what tells that the pool is drained, as far as it is.
func (p *pool) drainedLocked() {
	if p.ctx.Err() == nil {
		return
	}
	if p.blocks == 0 {
		closeOnce(p.calm)
	}
	if p.places == 0 {
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

// close closes all connections. Their borrowers find that out.
func (p *pool) close() {
	p.mu.Lock()
	p.closed = true
	if p.sweeper != nil {
		p.sweeper.Stop()
		p.sweeper = nil
	}
	all := p.all
	p.all, p.idle = nil, nil
	p.mu.Unlock()
	p.shut()
	for d := range all {
		_ = d.Close()
	}
}
