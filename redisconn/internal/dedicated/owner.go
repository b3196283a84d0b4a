// Package dedicated is the pool of connections that one caller uses at a time. Blocking commands and
// users' sessions run on them. Their owner is the connection that all users share. Dedicated
// connections use its dialer, but neither its queue nor its socket.
//
// sendOne in redisconn, which refuses forbidden commands, also takes blocking commands off the
// shared path, so they cost other requests nothing. Block copies the request and enters the pool.
// The pool grants it a place, either with a connection or with the right to make one, or lets it
// wait. Then serve writes the request, reads the reply, releases the connection and resolves the
// future. It runs in the caller's goroutine if the caller would only wait, and otherwise in a
// goroutine of its own. An idle dedicated connection has no goroutine. The pool only counts and
// grants places. Its users dial, check an idle connection before they use it, and close
// connections, all without the pool's lock. The pool knows the shared connection only as its Owner.
//
// A read of a large value takes a place only if one is free. See apart.go for how it keeps its place
// in the order of the shared connection.
//
// The shared connection only sends CLIENT UNBLOCK for a blocking command, and only on a socket to
// the same server process (unblock.go): in another process the same client ID belongs to another
// client. Both sockets get the run_id from INFO, which each process draws at random. Entry.On makes
// sure that the request is written on that session or not at all.
//
// The ticket of a blocking command is marked as heeded, because the dedicated connection watches
// the caller's context (send.ContextOf). When the context ends, the caller does not leave but waits
// for the future, which is resolved soon (call.leave). The answer UNBLOCKED usually means that
// nothing ran. But a server whose clients are paused answers UNBLOCKED and runs the command later.
// Therefore a PING follows (confirm): a reply that comes before its echo is the result. A server
// whose role changes answers with a text of its own (redis.ErrUnblocked) and closes the connection.
// If no reply comes in time, the connection is closed and the outcome is unknown.
//
// Sessions enter the same pool. They release the connection after RESET and the whole handshake
// (renew). Servers differ in which CLIENT settings RESET undoes, so a connection on which such a
// command was sent is closed instead. A connection is also closed if it was sent a command that is
// not in the table. After new credentials (Pool.Outdate), connections with the old ones are closed
// once they are idle.
//
// After an ASK, ASKING is sent before commands only for askLasts. After that the node answers
// MOVED, unless it owns the slot by then. In a session, this time starts again with each request
// that the node accepts. A transaction whose WATCH was sent in time may take longer, because EXEC
// runs nothing if the key has changed.
package dedicated

import (
	"net"
	"sync/atomic"
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/histogram"
	"github.com/joomcode/redispipe/internal/oplog"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/internal/sock"
	"github.com/joomcode/redispipe/internal/timing"
	"github.com/joomcode/redispipe/redis"
)

// Owner is the connection that the dedicated ones belong to. Its methods may be called from any
// goroutine, but under no lock.
type Owner interface {
	// Withheld reports whether users' requests may not be written any more.
	Withheld() bool
	// Shared returns the socket of the shared connection, or nil if it has none.
	Shared() Shared
	// ShortestTrip returns the shortest recent round trip.
	ShortestTrip() time.Duration
	// WithConn adds the connection to an error.
	WithConn(err *errorx.Error) *errorx.Error
	// Enter sends a request on the shared connection.
	Enter(r *send.Request, cb redis.Future, n uint64) (refused *errorx.Error)
	// Resolve resolves a future. stat is the argument of [Pool.Block]. received and sent are the
	// sizes of the reply and of the request, in bytes. Without a reply, received is 0.
	Resolve(cb redis.Future, n uint64, res any, stat *timing.Stat, received, sent int)
	// The remaining methods are events, which redisconn reports to its logger. more is the number
	// of such events that were left out since the last one.
	Made(local, remote string, open, more int)
	Lost(err error, local, remote string, more int)
	NotMade(err error, more int)
	NotUnblocked(err error)
	Leaked(opened string)
}

// Shared is a socket of the shared connection.
type Shared interface {
	send.Process
	// Send sends one of the library's own requests, only on this socket. answer gets an error if
	// the socket is lost.
	Send(req redis.Request, answer send.Internal)
}

// Stats has the fields of redisconn.DedicatedStats.
type Stats struct {
	Open, Idle, Waiting                int
	Values, Refused, NotSent, Unknown  uint64
	Connects, Disconnects, FailedDials uint64
	NotUnblocked                       uint64
	Wait                               *redis.Histogram
}

// counters are the fields of Stats that are counted outside of the pool's lock.
type counters struct {
	requests                           [redis.OutcomeUnknown + 1]atomic.Uint64 // by outcome
	connects, disconnects, failedDials atomic.Uint64
	notUnblocked                       atomic.Uint64
	// These limits bound how often events are reported to the owner: with an unstable server each
	// request causes one.
	made, lost, failed oplog.Limit

	waits histogram.Times
}

// Stats returns the statistics.
func (p *Pool) Stats() (s Stats) {
	n := &p.counters
	p.mu.Lock()
	s.Open, s.Idle, s.Waiting = len(p.all), len(p.idle), p.waiting.Len()
	p.mu.Unlock()
	s.Values, s.Refused = n.requests[redis.OutcomeValue].Load(), n.requests[redis.OutcomeRefused].Load()
	s.NotSent, s.Unknown = n.requests[redis.OutcomeNotSent].Load(), n.requests[redis.OutcomeUnknown].Load()
	s.Connects, s.Disconnects, s.FailedDials = n.connects.Load(), n.disconnects.Load(), n.failedDials.Load()
	s.NotUnblocked = n.notUnblocked.Load()
	s.Wait = n.waits.Histogram()
	return s
}

// noteReady counts how long a user of the pool has waited for a usable connection. entered is when
// the user entered the pool, on timing.Clock.
func (p *Pool) noteReady(entered time.Duration) {
	p.counters.waits.Add(timing.Clock() - entered)
}

// count counts requests whose outcome is that of res.
func (p *Pool) count(res any, requests int) {
	p.counters.requests[redis.OutcomeOf(res)].Add(uint64(requests))
}

// noteMade counts and reports a new connection. open is the number of open connections.
func (p *Pool) noteMade(conn net.Conn, open int) {
	p.counters.connects.Add(1)
	if more, ok := p.counters.made.Admit(time.Now()); ok {
		p.owner.Made(sock.Text(conn.LocalAddr()), sock.Text(conn.RemoteAddr()), open, more)
	}
}

// noteLost counts and reports a lost connection, unless it was closed on purpose.
func (p *Pool) noteLost(conn net.Conn, err error) {
	if p.ctx.Err() != nil {
		return
	}
	p.counters.disconnects.Add(1)
	if more, ok := p.counters.lost.Admit(time.Now()); ok {
		p.owner.Lost(err, sock.Text(conn.LocalAddr()), sock.Text(conn.RemoteAddr()), more)
	}
}

// noteFailed counts and reports a failed attempt to make a connection.
func (p *Pool) noteFailed(err error) {
	p.counters.failedDials.Add(1)
	if more, ok := p.counters.failed.Admit(time.Now()); ok {
		p.owner.NotMade(err, more)
	}
}

// noteNotUnblocked counts a command that could not be unblocked, because the ACL user has no
// permission, or because the shared connection leads to another server process. It reports only the
// first one.
func (p *Pool) noteNotUnblocked(err *errorx.Error) {
	if p.counters.notUnblocked.Add(1) == 1 {
		p.owner.NotUnblocked(p.owner.WithConn(err))
	}
}
