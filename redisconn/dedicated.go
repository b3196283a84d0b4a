package redisconn

import (
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/internal/timing"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn/internal/dedicated"
	"github.com/joomcode/redispipe/redisconn/internal/engine"
)

// newPool returns the connection's pool of dedicated connections.
func (c *Connection) newPool() *dedicated.Pool {
	return dedicated.New(c.ctx, c.dialer, owner{c}, dedicated.Config{
		Most: c.opts.DedicatedConns, Queue: c.opts.MaxRequests, MaxBytes: c.opts.MaxBytes,
		IOTimeout: c.opts.IOTimeout, Silence: c.silence(), TraceSessions: c.opts.TraceSessions,
	})
}

// owner makes a Connection the owner of its dedicated connections.
type owner struct{ c *Connection }

// Withheld implements dedicated.Owner.
func (o owner) Withheld() bool { return o.c.pipe.Withheld() }

// ShortestTrip implements dedicated.Owner.
func (o owner) ShortestTrip() time.Duration { return time.Duration(o.c.shortest.Load()) }

// WithConn implements dedicated.Owner.
func (o owner) WithConn(err *errorx.Error) *errorx.Error { return errs.ClosedAt(o.c.withConn(err)) }

// Shared implements dedicated.Owner.
func (o owner) Shared() dedicated.Shared {
	if s := o.c.pipe.Session(); s != nil {
		return sharedSocket{o.c, s}
	}
	return nil
}

// Enter implements dedicated.Owner.
func (o owner) Enter(r *send.Request, cb Future, n uint64) *errorx.Error {
	return o.c.pipe.Send(r, cb, n)
}

// Resolve implements dedicated.Owner.
func (o owner) Resolve(cb Future, n uint64, res any, st *timing.Stat, received, sent int) {
	defer o.c.pipe.Resolve(cb, res, n) // even if the logger ends the goroutine
	if st != nil && received > 0 {
		o.c.pipe.Tell(st, res, received, sent)
	}
}

// Made implements dedicated.Owner.
func (o owner) Made(local, remote string, open, more int) {
	o.c.report(LogDedicatedConnected{LocalAddr: local, RemoteAddr: remote, Open: open, More: more})
}

// Lost implements dedicated.Owner.
func (o owner) Lost(err error, local, remote string, more int) {
	o.c.report(LogDedicatedDisconnected{Error: err, LocalAddr: local, RemoteAddr: remote, More: more})
}

// NotMade implements dedicated.Owner.
func (o owner) NotMade(err error, more int) { o.c.report(LogDedicatedFailed{Error: err, More: more}) }

// NotUnblocked implements dedicated.Owner.
func (o owner) NotUnblocked(err error) { o.c.report(LogNotUnblocked{Error: err}) }

// Leaked implements dedicated.Owner.
func (o owner) Leaked(opened string) { o.c.report(LogSessionLeaked{Opened: opened}) }

// sharedSocket is a socket of the shared connection.
type sharedSocket struct {
	c *Connection
	*engine.Session
}

// Send implements dedicated.Shared.
func (s sharedSocket) Send(req Request, answer send.Internal) {
	s.c.pipe.SendInternal(s.Session, req, answer)
}

// withoutSessions returns an error if Opts forbid dedicated connections, and nil otherwise.
func (c *Connection) withoutSessions() *errorx.Error {
	if c.opts.DedicatedConns >= 0 {
		return nil
	}
	return redis.ErrSession.New("Opts.DedicatedConns is negative: there are no sessions")
}
