package rediscluster

import (
	"bytes"
	"sync"
	"sync/atomic"
	"time"

	"github.com/joomcode/redispipe/internal/backend"
	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/internal/timing"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster/internal/route"
)

// hedger sends slow reads to a second node as well, for Opts.Hedge. While reads wait, a timer looks
// for slow ones.
type hedger struct {
	c       *Cluster
	running atomic.Bool   // the timer is set
	saved   atomic.Int64  // the savings: each read adds one, up to hedgeSaved, and each hedged read takes hedgeOf
	hedged  atomic.Uint64 // how many reads were sent to a second node
}

const (
	// hedgeEvery is how often the timer looks.
	hedgeEvery = time.Millisecond
	// On average, one of hedgeOf reads may be hedged. hedgeSaved bounds how many may be hedged at
	// once, so that all callers can continue when a node freezes.
	hedgeOf    = 50
	hedgeSaved = 256 * hedgeOf
	// hedgeFirst is what is saved at the start, so that a client with few reads need not wait.
	hedgeFirst = 16 * hedgeOf
)

// begin counts a read that was sent to a node.
func (g *hedger) begin(n *route.Node, read *route.Read) {
	if g.saved.Load() < hedgeSaved {
		g.saved.Add(1)
	}
	n.Reads.Begin(read)
	g.run()
}

// run starts the timer, unless it is running.
func (g *hedger) run() {
	if !g.running.Load() && g.running.CompareAndSwap(false, true) {
		time.AfterFunc(hedgeEvery, g.look)
	}
}

// look is called by the timer.
func (g *hedger) look() {
	if g.hedge(g.may) {
		time.AfterFunc(hedgeEvery, g.look)
		return
	}
	g.running.Store(false)
	if g.hedge(g.may) { // a read may have begun before running was cleared
		g.run()
	}
}

// hedge hedges the reads that have waited for too long. It reports whether others are still
// waiting.
func (g *hedger) hedge(may func(waited, slow time.Duration) bool) (busy bool) {
	now := timing.Clock()
	for _, n := range g.c.topology.Load().Nodes {
		overdue, others := n.Reads.Overdue(now, func(waited, slow time.Duration) bool {
			if n.Silent() { // hedge soon, however long recent answers took
				slow = min(slow, hedgeEvery)
			}
			return may(waited, slow)
		})
		for _, read := range overdue {
			read.Hedge.Hedge()
		}
		busy = busy || others
	}
	return busy
}

// may takes the cost of a hedged read from the savings. If less than half of the savings is left, a
// read must have waited longer, so that slightly late reads do not use up everything.
func (g *hedger) may(waited, slow time.Duration) bool {
	saved := g.saved.Load()
	if saved < hedgeOf || waited <= slow*time.Duration(max(saved, hedgeSaved/2))/time.Duration(saved) {
		return false
	}
	return g.saved.CompareAndSwap(saved, saved-hedgeOf) || g.may(waited, slow)
}

// hedges reports whether the attempt is a read that may be sent to two nodes. Its caller must wait
// for it: then its future is a waiter of package redis, which accepts results that it has not
// decoded itself.
func (a *attempt) hedges() bool {
	return a.c.hedger != nil && a.moves()
}

// sentTwice is a read that may also be sent to a second node. It owns the attempt until the read is
// decided. After that, whoever decided the read owns the attempt: the leg that is answered first,
// the last leg that fails, or the caller that takes the read back.
//
// Each leg decodes its reply into its own memory, and the attempt's future gets the memory of the
// leg that decides. The caller does not read replies itself, because that would bind it to one of
// the two connections.
type sentTwice struct {
	c        *Cluster
	observed bool
	mu       sync.Mutex // guards what follows, and the tickets of the legs
	a        *attempt   // nil once it is decided
	open     int        // how many legs have not ended
	legs     [2]leg     // the second is zero unless it was begun
}

// leg is the future of the read on one of the two nodes.
type leg struct {
	of     *sentTwice
	link   *route.Link
	read   route.Read // of the first
	ticket send.Ticket
	// server and process say where the answer is from. They are set before the leg is resolved.
	server  send.Server
	process send.Process
}

// sendHedged sends the attempt on its link, and later perhaps to a second node. After that, the
// caller may use only the result.
func (a *attempt) sendHedged() *sentTwice {
	s := &sentTwice{c: a.c, observed: a.req.Observed, a: a, open: 1}
	first := &s.legs[0]
	first.of, first.link, first.read.Hedge, first.read.Since = s, a.link, s, timing.Clock()
	req := a.req
	first.send(&req)
	s.c.hedger.begin(first.link.Node, &first.read) // only after send: a second node's answer may end the attempt, and its request with it
	return s
}

// send sends a copy of the read.
func (g *leg) send(req *send.Request) {
	req.Typed, req.Caller, req.Done = false, nil, nil
	g.link.Backend.SendEncoded(req, g, 0)
	g.of.mu.Lock()
	defer g.of.mu.Unlock()
	g.ticket = req.Ticket
}

// Hedge sends the read to a second node if there is one, unless the read is decided.
func (s *sentTwice) Hedge() {
	s.mu.Lock()
	if s.a == nil {
		s.mu.Unlock()
		return
	}
	spec, req := s.a.spec.Spec, s.a.req
	req.Buf = bytes.Clone(req.Buf)
	s.mu.Unlock()
	spec.Avoid = s.legs[0].link
	l := s.c.topology.Load().Another(&spec)
	if l == nil {
		return
	}
	s.mu.Lock()
	late := s.a == nil
	second := &s.legs[1]
	if !late {
		second.of, second.link = s, l
		s.open++
	}
	s.mu.Unlock()
	if !late {
		s.c.hedger.hedged.Add(1)
		second.send(&req)
	}
}

// Resolve implements redis.Future. An answer decides the read. A failure decides it unless the
// other leg may still be answered.
func (g *leg) Resolve(res any, _ uint64) {
	s, outcome := g.of, redis.OutcomeOf(res)
	if g == &s.legs[0] {
		g.link.Node.Reads.End(&g.read, outcome == redis.OutcomeValue)
	}
	failed := outcome == redis.OutcomeNotSent || outcome == redis.OutcomeUnknown
	s.mu.Lock()
	s.open--
	a, waits := s.a, s.open > 0
	if a != nil && failed { // record the failure even if the other leg is answered
		a.attempts.Failed(redis.AsErrorx(res))
	}
	if a == nil || failed && waits {
		s.mu.Unlock()
		return
	}
	s.a = nil
	other := s.legs[0].ticket
	if g == &s.legs[0] {
		other = s.legs[1].ticket
	}
	s.mu.Unlock()
	if !other.Withdraw() && waits && outcome == redis.OutcomeRefused {
		a.attempts.Failed(redis.ErrIO.New("one of two nodes has refused the read, and the other may have run it"))
	}
	a.link = g.link
	if s.observed {
		send.AnsweredBy(a.To, g.server)
		if g.process != nil {
			send.AnsweredIn(a.To, g.process)
		}
	}
	a.Resolve(res, 0)
}

// Cancelled implements redis.Future: a leg is not written once the read is decided.
func (g *leg) Cancelled() error {
	g.of.mu.Lock()
	defer g.of.mu.Unlock()
	if g.of.a != nil {
		return nil
	}
	return errs.ErrRequestCancelled.New("another node has answered")
}

// Observes implements send.Observer.
func (g *leg) Observes() bool { return g.of.observed }

// AnsweredBy implements send.Observer.
func (g *leg) AnsweredBy(at send.Server) { g.server = at }

// AnsweredIn implements send.Follower.
func (g *leg) AnsweredIn(p send.Process) { g.process = p }

// Withdraw implements send.Withdrawer for the caller: it takes the read back if none of it was
// written.
func (s *sentTwice) Withdraw(uint64) bool {
	s.mu.Lock()
	first, alone := s.legs[0].ticket, s.a != nil && s.legs[1].of == nil
	s.mu.Unlock()
	if !alone || !first.Withdraw() {
		return false
	}
	s.legs[0].link.Node.Reads.End(&s.legs[0].read, false)
	s.mu.Lock()
	s.open--
	a := s.a
	if a == nil || s.open > 0 { // in the meantime, the read was decided or sent to a second node
		s.mu.Unlock()
		return false
	}
	s.a = nil
	s.mu.Unlock()
	if a.attempts.MayHaveRun() { // the read may have run on a second node, whose connection was lost
		a.giveUp(redis.ErrRequestWithdrawn.New("withdrawn from the first node"))
		return false
	}
	s.c.rules.Withdrawn()
	return true
}

// Delay implements backend.Queue.
func (s *sentTwice) Delay(uint64) (redis.Delay, bool) {
	s.mu.Lock()
	first := s.legs[0].ticket
	s.mu.Unlock()
	if queue, known := first.Queue.(backend.Queue); known {
		return queue.Delay(first.Seq)
	}
	return redis.Delay{}, false
}

var _ backend.Queue = (*sentTwice)(nil)
