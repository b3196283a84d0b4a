package redisconn

import (
	"net"
	"sync/atomic"
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/sock"
	"github.com/joomcode/redispipe/redis"
)

// DedicatedStats are the statistics of the connections for blocking commands and
// sessions, beside the shared one: see Opts.DedicatedConns.
type DedicatedStats struct {
	// Open is the number of these connections, Idle of those that are not in use.
	// Waiting is the number of blocking commands and of sessions to be opened that wait
	// for one.
	Open, Idle, Waiting int
	// Values, Refused, NotSent and Unknown count their requests by [redis.Outcome],
	// including MULTI and EXEC of sessions.
	Values, Refused, NotSent, Unknown uint64
	// Connects and Disconnects count connections that were made and lost, FailedDials
	// attempts that failed. A connection that is closed because it is not needed any
	// more, or can't be reset after a session, is not counted as lost.
	Connects, Disconnects, FailedDials uint64
	// NotUnblocked counts cancelled blocking commands that the server could not be asked
	// to unblock: see [LogNotUnblocked]. Each has cost its connection, and is unknown.
	NotUnblocked uint64
}

// merge adds up.
func (s *DedicatedStats) merge(o DedicatedStats) {
	s.Open += o.Open
	s.Idle += o.Idle
	s.Waiting += o.Waiting
	s.Values += o.Values
	s.Refused += o.Refused
	s.NotSent += o.NotSent
	s.Unknown += o.Unknown
	s.Connects += o.Connects
	s.Disconnects += o.Disconnects
	s.FailedDials += o.FailedDials
	s.NotUnblocked += o.NotUnblocked
}

// dedicatedCounters are what DedicatedStats is made of, beside the pool.
type dedicatedCounters struct {
	requests                           [4]atomic.Uint64 // by redis.Outcome
	connects, disconnects, failedDials atomic.Uint64
	notUnblocked                       atomic.Uint64
	// What the logger is told sparsely.
	made, lost, failed sparse
}

func (c *Connection) dedicatedStats() (s DedicatedStats) {
	n := &c.dedicated
	s.Open, s.Idle, s.Waiting = c.pool.sizes()
	s.Values, s.Refused = n.requests[redis.OutcomeValue].Load(), n.requests[redis.OutcomeRefused].Load()
	s.NotSent, s.Unknown = n.requests[redis.OutcomeNotSent].Load(), n.requests[redis.OutcomeUnknown].Load()
	s.Connects, s.Disconnects, s.FailedDials = n.connects.Load(), n.disconnects.Load(), n.failedDials.Load()
	s.NotUnblocked = n.notUnblocked.Load()
	return s
}

// countDedicated counts requests on dedicated connections that have ended with res.
func (c *Connection) countDedicated(res any, requests int) {
	c.dedicated.requests[redis.OutcomeOf(res)].Add(uint64(requests))
}

// dedicatedMade tells of a connection that was made, as one of so many.
func (c *Connection) dedicatedMade(conn net.Conn, open int) {
	c.dedicated.connects.Add(1)
	if more, ok := c.dedicated.made.pass(time.Now()); ok {
		c.report(LogDedicatedConnected{LocalAddr: sock.Text(conn.LocalAddr()), RemoteAddr: sock.Text(conn.RemoteAddr()), Open: open, More: more})
	}
}

// dedicatedLost tells of a connection that was lost, unless that is wanted.
func (c *Connection) dedicatedLost(conn net.Conn, err error) {
	if c.pool.ctx.Err() != nil {
		return
	}
	c.dedicated.disconnects.Add(1)
	if more, ok := c.dedicated.lost.pass(time.Now()); ok {
		c.report(LogDedicatedDisconnected{Error: err, LocalAddr: sock.Text(conn.LocalAddr()), RemoteAddr: sock.Text(conn.RemoteAddr()), More: more})
	}
}

// dedicatedNotUnblocked tells, once, of a command that could not be unblocked, since the
// server does not let the user, or is not the shared connection's.
func (c *Connection) dedicatedNotUnblocked(err *errorx.Error) {
	if c.dedicated.notUnblocked.Add(1) == 1 {
		c.report(LogNotUnblocked{Error: c.withConn(err)})
	}
}

// dedicatedFailed tells of an attempt to make a connection that has failed.
func (c *Connection) dedicatedFailed(err error) {
	c.dedicated.failedDials.Add(1)
	if more, ok := c.dedicated.failed.pass(time.Now()); ok {
		c.report(LogDedicatedFailed{Error: err, More: more})
	}
}
