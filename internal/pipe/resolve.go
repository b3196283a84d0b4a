package pipe

import (
	"runtime/debug"

	"github.com/joomcode/redispipe/internal/queue"
	"github.com/joomcode/redispipe/redis"
)

// Resolve resolves a future outside of the reader. If the future panics, that is reported.
func (p *Pipe) Resolve(cb redis.Future, res any, n uint64) {
	if cb == nil {
		return
	}
	defer p.recovered()
	cb.Resolve(res, n)
}

// Tell passes the statistics of an answered request to ReqStat. in and out are the sizes
// of reply and request in bytes.
func (p *Pipe) Tell(st *queue.Stat, res any, in, out int) {
	defer p.recovered()
	p.opts.ReqStat(st, res, in, out)
}

// recovered is deferred around the user's functions, which may panic.
func (p *Pipe) recovered() {
	if v := recover(); v != nil {
		p.opts.Panicked(v, debug.Stack())
	}
}
