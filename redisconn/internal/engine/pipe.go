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
	// Ctx is the connection's context. When it ends, the session ends.
	Ctx context.Context
	// MaxRequests bounds the number of pending requests. MaxBytes bounds the size of those that no
	// writer has taken yet.
	MaxRequests, MaxBytes int
	// Timeout bounds the time for which written requests may go unanswered, unless it is negative.
	Timeout time.Duration
	// Silence is six times the interval at which Watch checks the session.
	Silence time.Duration
	// Heartbeat is the interval between heartbeats. If it is zero, Silence is divided into three
	// intervals. If it is negative, there are no heartbeats.
	Heartbeat time.Duration
	// Integrity ends each batch with a fence. No request of the batch is resolved before its fence
	// is answered.
	Integrity bool
	// Pushes: the server may send pushes (RESP3).
	Pushes bool
	// Yields: a writer may let other goroutines run first, so that they can add their requests.
	Yields bool
	// Script: users' requests may block the server, so the pipe sends no heartbeats.
	Script bool

	// WithConn adds the connection to an error.
	WithConn func(*errorx.Error) *errorx.Error
	// Server returns the server that answers the requests.
	Server func() send.Server
	// Panicked is called when one of the user's functions has panicked.
	Panicked func(v any, stack []byte)
	// Measured is called with the round-trip time of each heartbeat.
	Measured func(time.Duration)
	// Trip returns the shortest recent round trip, or 0.
	Trip func() time.Duration
	// Large, if not nil, is called with each request whose reply has at least LargeLeast bytes, in the
	// goroutine that reads.
	Large func(encoded []byte)
	// Stat, if not nil, returns the record that collects the statistics of a request. It returns
	// nil if the logger must not see the request.
	Stat func(*send.Request) *timing.Stat
	// ReqStat, if not nil, is called for each answered request for which Stat has returned a
	// record. in and out are the sizes of the reply and of the request, in bytes.
	ReqStat func(st *timing.Stat, res any, in, out int)
}

// Pipe holds the requests of a connection from when they are accepted until they are resolved. It outlives the
// connection's sockets: each has a Session.
type Pipe struct {
	*queue
	current   atomic.Pointer[Session]
	listening *time.Timer  // calls tellCallers while callers are deaf: see send.Caller
	relaxed   atomic.Int64 // the end of the time set by Relax, in nanoseconds since 1970
}

// Queue returns the pipe's queue. The tickets of requests refer to it.
func (p *Pipe) Queue() *queue { return p.queue }

// Session returns the current session or, if there is none, the last one. Before the first session
// it returns nil.
func (p *Pipe) Session() *Session { return p.current.Load() }

// Resolve resolves cb, unless cb is nil. It reports a panic of the future. The reader resolves
// futures by itself.
func (p *Pipe) Resolve(cb redis.Future, res any, n uint64) {
	if cb == nil {
		return
	}
	defer p.recovered()
	cb.Resolve(res, n)
}

// Tell passes the statistics of an answered request to ReqStat. in and out are the sizes of the
// reply and of the request, in bytes.
func (p *Pipe) Tell(st *timing.Stat, res any, in, out int) {
	defer p.recovered()
	p.opts.ReqStat(st, res, in, out)
}

// recovered reports the panic of a user's function. It must be deferred.
func (p *Pipe) recovered() {
	if v := recover(); v != nil {
		p.opts.Panicked(v, debug.Stack())
	}
}
