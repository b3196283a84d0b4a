// Package pipe writes the batches of a queue to a socket, reads the replies, and resolves
// the requests with them. It knows a socket that is dialed and greeted, and nothing of how
// that came to be, of options, loggers or pools.
package engine

import (
	"context"
	"math"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/request"
	"github.com/joomcode/redispipe/internal/send"
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
	// Heartbeats is the time in which the session is checked six times, and three heartbeats
	// are sent.
	Heartbeats time.Duration
	// Integrity: replies are released only when the whole batch is known to be in step.
	Integrity bool
	// Pushes: the server may send what nobody has asked for.
	Pushes bool
	// Yields: before a batch is written, other goroutines may run, to add their requests.
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
	// Stat, if not nil, makes the statistics of the library's own requests: see Entry.
	Stat func(*send.Request) *Stat
	// ReqStat, if not nil, is called for each answered request that has a Stat. in and out
	// are the sizes of reply and request in bytes.
	ReqStat func(st *Stat, res any, in, out int)
}

// Pipe is what all sessions of a connection have in common.
type Pipe struct {
	opts    Opts
	queue   *Queue
	current atomic.Pointer[Session]
	listen  *time.Timer // calls tellCallers, while anybody has to be told to listen
}

// New makes a pipe, with a queue that is disconnected.
func New(o Opts) *Pipe { return newPipe(newQueue(o), o) }

// Queue returns the queue.
func (p *Pipe) Queue() *Queue { return p.queue }

func newPipe(q *Queue, o Opts) *Pipe {
	p := &Pipe{opts: o, queue: q}
	p.listen = time.AfterFunc(math.MaxInt64, p.tellCallers)
	p.listen.Stop()
	return p
}

// Enter puts requests into the queue and writes them, or has them written. refused says why
// they have not entered. As for [Queue.Enter], only their owner may read reqs after it.
func (p *Pipe) Enter(reqs []*send.Request, e *Entry) (refused *errorx.Error) {
	to, duty, refused := p.queue.Enter(reqs, e)
	if duty&MustListen != 0 {
		p.listen.Reset(ListenEvery)
	}
	if duty&(MustWrite|MustCheck) != 0 {
		to.flush(duty)
	}
	return refused
}

// tellCallers tells callers that have been waiting for long to listen to their contexts.
func (p *Pipe) tellCallers() {
	reads, again := p.queue.Listen()
	if s := p.Session(); reads && s != nil {
		s.interruptDeaf()
	}
	if again {
		p.listen.Reset(ListenEvery)
	}
}

// SendOwn sends one of the library's own requests on a certain session, or not at all.
func (p *Pipe) SendOwn(on *Session, req redis.Request, answer send.Internal) {
	r, _, err := request.Encode(nil, req, false)
	if err != nil {
		answer(err, 0)
		return
	}
	one := [1]*send.Request{&r}
	entry := Entry{Future: answer, On: on}
	if refused := p.Enter(one[:], &entry); refused != nil {
		answer(refused, 0)
	}
}

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
func (p *Pipe) Tell(st *Stat, res any, in, out int) {
	defer p.recovered()
	p.opts.ReqStat(st, res, in, out)
}

// recovered is deferred around the user's functions, which may panic.
func (p *Pipe) recovered() {
	if v := recover(); v != nil {
		p.opts.Panicked(v, debug.Stack())
	}
}
