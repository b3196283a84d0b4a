package dedicated

import (
	"net"
	"sync/atomic"
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/sock"
	"github.com/joomcode/redispipe/redis"
)

// Stats is redisconn.DedicatedStats.
type Stats struct {
	Open, Idle, Waiting                int
	Values, Refused, NotSent, Unknown  uint64
	Connects, Disconnects, FailedDials uint64
	NotUnblocked                       uint64
}

// counters has the parts of Stats that the pool itself does not know.
type counters struct {
	requests                           [4]atomic.Uint64 // by redis.Outcome
	connects, disconnects, failedDials atomic.Uint64
	notUnblocked                       atomic.Uint64
	// Events that are reported to the owner at most once per limiterPause.
	made, lost, failed limiter
}

// Stats returns the statistics.
func (p *Pool) Stats() (s Stats) {
	n := &p.counters
	s.Open, s.Idle, s.Waiting = p.sizes()
	s.Values, s.Refused = n.requests[redis.OutcomeValue].Load(), n.requests[redis.OutcomeRefused].Load()
	s.NotSent, s.Unknown = n.requests[redis.OutcomeNotSent].Load(), n.requests[redis.OutcomeUnknown].Load()
	s.Connects, s.Disconnects, s.FailedDials = n.connects.Load(), n.disconnects.Load(), n.failedDials.Load()
	s.NotUnblocked = n.notUnblocked.Load()
	return s
}

// count counts requests that have ended with res.
func (p *Pool) count(res any, requests int) {
	p.counters.requests[redis.OutcomeOf(res)].Add(uint64(requests))
}

// noteMade counts and reports a connection that was made; open is how many there are.
func (p *Pool) noteMade(conn net.Conn, open int) {
	p.counters.connects.Add(1)
	if more, ok := p.counters.made.pass(time.Now()); ok {
		p.owner.Report(Connected{LocalAddr: sock.Text(conn.LocalAddr()), RemoteAddr: sock.Text(conn.RemoteAddr()), Open: open, More: more})
	}
}

// noteLost counts and reports a connection that was lost, unless it was closed on
// purpose.
func (p *Pool) noteLost(conn net.Conn, err error) {
	if p.ctx.Err() != nil {
		return
	}
	p.counters.disconnects.Add(1)
	if more, ok := p.counters.lost.pass(time.Now()); ok {
		p.owner.Report(Disconnected{Error: err, LocalAddr: sock.Text(conn.LocalAddr()), RemoteAddr: sock.Text(conn.RemoteAddr()), More: more})
	}
}

// noteFailed counts and reports a failed attempt to make a connection.
func (p *Pool) noteFailed(err error) {
	p.counters.failedDials.Add(1)
	if more, ok := p.counters.failed.pass(time.Now()); ok {
		p.owner.Report(Failed{Error: err, More: more})
	}
}

// noteNotUnblocked counts a command that could not be unblocked, because the user may not
// do so, or the shared connection leads to another server process. It reports the first
// one.
func (p *Pool) noteNotUnblocked(err *errorx.Error) {
	if p.counters.notUnblocked.Add(1) == 1 {
		p.owner.Report(NotUnblocked{Error: p.owner.WithConn(err)})
	}
}
