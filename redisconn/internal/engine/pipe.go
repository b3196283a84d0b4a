// Package engine holds the requests of a connection until they are answered: in the open batch until
// they are written, and in batches in flight until their replies are read. The queue decides, under one
// lock, which goroutine may write and which may read. It does no I/O, resolves no future and logs
// nothing, so none of that happens under the lock. Sessions do that work, each with one socket. The
// engine gets sockets after the handshake; it does not dial, and knows no options of users, loggers or
// pools.
package engine

import (
	"context"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/internal/timing"
	"github.com/joomcode/redispipe/redis"
)

// Opts are the options of a pipe.
type Opts struct {
	// Ctx is the connection's: a session ends with it.
	Ctx context.Context
	// MaxRequests bounds the pending requests, MaxBytes the bytes of those that are not taken.
	MaxRequests, MaxBytes int
	// Timeout is how long written requests may go unanswered; negative: without a bound.
	Timeout time.Duration
	// Silence is six times the interval at which Watch checks the session.
	Silence time.Duration
	// Heartbeat is the interval of heartbeats. Zero: three in Silence; negative: none.
	Heartbeat time.Duration
	// Integrity ends each batch with a fence, and holds its replies back until the fence is
	// answered.
	Integrity bool
	// Pushes: the server may send pushes (RESP3).
	Pushes bool
	// Yields: a writer may let other goroutines run first, so that they can add their requests.
	Yields bool
	// Script: requests may block, so there are no heartbeats.
	Script bool

	// WithConn adds the connection to an error.
	WithConn func(*errorx.Error) *errorx.Error
	// Server is where replies come from.
	Server func() send.Server
	// Panicked is called when one of the user's functions has panicked.
	Panicked func(v any, stack []byte)
	// Measured is called with the round trip of each heartbeat.
	Measured func(time.Duration)
	// Trip returns the shortest recent round trip, or 0.
	Trip func() time.Duration
	// Stat, if not nil, makes the statistics of a request, or returns nil if the logger must not see it.
	Stat func(*send.Request) *timing.Stat
	// ReqStat, if not nil, is called for each answered request that has a Stat. in and out
	// are the sizes of reply and request in bytes.
	ReqStat func(st *timing.Stat, res any, in, out int)
}

// Pipe holds the requests of a connection from when they are accepted until they are resolved. It outlives the
// connection's sockets: each has a Session.
type Pipe struct {
	*queue
	current   atomic.Pointer[Session]
	listening *time.Timer // calls tellCallers while callers wait deaf
}

// Queue returns the queue that the tickets of requests contain.
func (p *Pipe) Queue() *queue { return p.queue }

// Session returns the present session, or the last one; nil if there was none.
func (p *Pipe) Session() *Session { return p.current.Load() }

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
func (p *Pipe) Tell(st *timing.Stat, res any, in, out int) {
	defer p.recovered()
	p.opts.ReqStat(st, res, in, out)
}

// recovered is deferred around the user's functions, which may panic.
func (p *Pipe) recovered() {
	if v := recover(); v != nil {
		p.opts.Panicked(v, debug.Stack())
	}
}
