package engine

import (
	"math"
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/redis"
)

// New returns a disconnected pipe.
func New(o Opts) *Pipe {
	p := &Pipe{queue: newQueue(o)}
	p.listening = time.AfterFunc(math.MaxInt64, p.tellCallers)
	p.listening.Stop()
	return p
}

// Enter puts requests into the queue, or returns an error if the queue refuses them. It also writes
// them, unless another goroutine is going to. After requests have entered, only their owner may
// read reqs: see [queue.enter].
func (p *Pipe) Enter(reqs []*send.Request, e *Entry) (refused *errorx.Error) {
	e.divided = p.divide(reqs, e)
	s, d, refused := p.enter(reqs, e)
	p.do(d, s)
	return refused
}

// do performs duty d on session s.
func (p *Pipe) do(d duty, s *Session) {
	if d&mustListen != 0 {
		p.listening.Reset(listenEvery)
	}
	if d&(mustWrite|mustCheck) != 0 {
		s.flush(d)
	}
}

// SendInternal sends one of the library's own requests, only on session on. answer gets the result,
// or an error if that session has ended.
func (p *Pipe) SendInternal(on *Session, req redis.Request, answer send.Internal) {
	r, err := encode(req)
	if err != nil {
		answer(err, 0)
		return
	}
	one := [1]*send.Request{r}
	entry := Entry{Future: answer, on: on}
	if refused := p.Enter(one[:], &entry); refused != nil {
		answer(refused, 0)
	}
}

// tellCallers tells callers that have been waiting for long to listen to their contexts.
func (p *Pipe) tellCallers() {
	reads, again := p.queue.listen()
	if s := p.Session(); reads && s != nil {
		s.interruptDeaf()
	}
	if again {
		p.listening.Reset(listenEvery)
	}
}

// Unread reports whether the socket has received bytes that nobody has read. It returns false if it
// can't tell.
func (p *Pipe) Unread() bool {
	s := p.Session()
	return s != nil && s.checker != nil && s.checker.Unread()
}
