// Package pipe writes the batches of a queue to a socket, reads the replies, and resolves
// the requests with them. It knows a socket that is dialed and greeted, and nothing of how
// that came to be, of options, loggers or pools.
package pipe

import (
	"context"
	"math"
	"sync/atomic"
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/queue"
	"github.com/joomcode/redispipe/internal/request"
	"github.com/joomcode/redispipe/internal/wire"
	"github.com/joomcode/redispipe/redis"
)

// Opts are the options of a pipe.
type Opts struct {
	// Ctx is the connection's: a session ends with it.
	Ctx context.Context
	// Timeout is for how long requests that were written may go unanswered; negative for
	// as long as they like.
	Timeout time.Duration
	// Heartbeats is the time in which the session is looked after six times, and a heartbeat
	// is sent three times.
	Heartbeats time.Duration
	// Integrity: replies are released when a whole batch of them is known to be in step.
	Integrity bool
	// Pushes: something may come that nobody has asked for.
	Pushes bool
	// Yields: before a batch is written, others may run first, to send what goes with it.
	Yields bool
	// Script: requests may block, so that there are no heartbeats.
	Script bool

	// WithConn adds the connection to an error.
	WithConn func(*errorx.Error) *errorx.Error
	// Place is where replies come from.
	Place func() wire.Place
	// Panicked is told of a function of the user's that has panicked.
	Panicked func(v any, stack []byte)
	// Measured is told of the round trip of a heartbeat.
	Measured func(time.Duration)
	// Stat, if not nil, makes the statistics of the library's own requests: see queue.Entry.
	Stat func(*wire.Request) *queue.Stat
	// ReqStat, if not nil, is told of each answered request that has a Stat: in and out are
	// the sizes of reply and request in bytes.
	ReqStat func(st *queue.Stat, res any, in, out int)
}

// Pipe is what all sessions of a connection have in common.
type Pipe struct {
	opts    Opts
	queue   *queue.Queue
	current atomic.Pointer[Session]
	listen  *time.Timer // calls tellCallers, while anybody has to be told to listen
}

// New makes a pipe of what enters a queue.
func New(q *queue.Queue, o Opts) *Pipe {
	p := &Pipe{opts: o, queue: q}
	p.listen = time.AfterFunc(math.MaxInt64, p.tellCallers)
	p.listen.Stop()
	return p
}

// Enter lets requests into the queue, and sees to their being written, or says why they have
// not entered. last is the ticket of the last of them: once they are written they may be
// sent again, so that nobody may look at them.
func (p *Pipe) Enter(reqs []*wire.Request, e *queue.Entry) (last wire.Ticket, refused *errorx.Error) {
	to, duty, last, refused := p.queue.Enter(reqs, e)
	if duty&queue.MustListen != 0 {
		p.listen.Reset(queue.ListenAfter)
	}
	if duty&(queue.MustWrite|queue.MustCheck) != 0 {
		to.Reader.(*Session).flush(duty)
	}
	return last, refused
}

// tellCallers tells callers that have waited for long to listen to their contexts.
func (p *Pipe) tellCallers() {
	reads, again := p.queue.Listen()
	if s := p.Session(); reads && s != nil {
		s.interruptDeaf()
	}
	if again > 0 {
		p.listen.Reset(again)
	}
}

// SendOwn sends a request of the library's own on a certain session, or not at all.
func (p *Pipe) SendOwn(on *Session, req redis.Request, answer wire.Own) {
	r, _, err := request.Encode(nil, req, false)
	if err != nil {
		answer(err, 0)
		return
	}
	one := [1]*wire.Request{&r}
	entry := queue.Entry{Future: answer, On: &on.Session, Stat: p.opts.Stat}
	if _, refused := p.Enter(one[:], &entry); refused != nil {
		answer(refused, 0)
	}
}

// Session returns the session, or the last one, or nil if there was none.
func (p *Pipe) Session() *Session { return p.current.Load() }
