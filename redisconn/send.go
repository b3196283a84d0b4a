package redisconn

import (
	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/backend"
	"github.com/joomcode/redispipe/internal/command"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/internal/timing"
	"github.com/joomcode/redispipe/redis"
)

// Request is redis.Request.
type Request = redis.Request

// Future is redis.Future.
type Future = redis.Future

const (
	// DoAsking makes SendBatchFlags send ASKING before the requests.
	DoAsking = 1 << iota
	// DoTransaction makes SendBatchFlags wrap the requests into MULTI and EXEC.
	DoTransaction
)

// Send implements redis.Sender.
func (c *Connection) Send(req Request, cb Future, n uint64) {
	c.SendAsk(req, cb, n, false)
}

// SendAsk sends a request, with ASKING before it if asking is set.
func (c *Connection) SendAsk(req Request, cb Future, n uint64, asking bool) {
	if !c.opened() {
		backend.Nobody.Send(req, cb, n)
		return
	}
	scratch := send.GetScratch()
	defer send.PutScratch(scratch)
	r := &scratch.Request
	*r = send.Request{Asking: asking}
	err := askFuture(r, cb)
	if err == nil {
		err = encodeTo(scratch, r, req)
	}
	if err == nil {
		err = c.sendOne(r, cb, n)
	}
	if err != nil {
		c.refuse(cb, err.WithProperty(redis.EKRequest, req), n)
		return
	}
	send.Queued(cb, r.Ticket)
}

// shared is a Connection with the methods that are only for packages of this module.
type shared struct{ *Connection }

// Panicked implements backend.Reporter.
func (s shared) Panicked(v any, stack []byte) {
	s.report(LogFuturePanic{Value: v, Stack: stack})
}

// SendEncoded implements send.Backend.
func (s shared) SendEncoded(r *send.Request, cb Future, n uint64) {
	if err := s.sendOne(r, cb, n); err != nil {
		s.refuse(cb, err, n)
	}
}

// WantsSlot implements send.Backend: a connection has no slots.
func (shared) WantsSlot() bool { return false }

// sendOne sends one request: on the shared connection, or on a dedicated one if it may
// block or is likely to get a large reply.
func (c *Connection) sendOne(r *send.Request, cb Future, n uint64) *errorx.Error {
	if r.Shared != command.Allowed || c.large.known.Load() != nil {
		return c.sendUnusual(r, cb, n)
	}
	return c.pipe.Send(r, cb, n)
}

// sendUnusual is sendOne for requests that may need a dedicated connection, or are not allowed.
func (c *Connection) sendUnusual(r *send.Request, cb Future, n uint64) *errorx.Error {
	switch {
	case r.Shared == command.WouldBlock && !c.opts.ScriptMode && c.opts.DedicatedConns > 0:
		return c.block(r, cb, n)
	case r.Shared != command.Allowed:
		if err := c.checkEncoded(r, 0); err != nil {
			return err
		}
	case c.sendApart(r, cb, n):
		return nil
	}
	return c.pipe.Send(r, cb, n)
}

// runsApart reports whether reads may run apart.
func (c *Connection) runsApart() bool {
	return c.opts.DedicatedConns > 0 && !c.opts.ScriptMode && !c.opts.Integrity && c.tracking == nil
}

// sendApart runs a read apart if its reply is likely to be large, and its caller waits for it. It reports
// whether it did. Behind a proxy it does not: PING would show nothing if the proxy answers it, and a proxy
// that does not know INFO may close the connection.
func (c *Connection) sendApart(r *send.Request, cb Future, n uint64) bool {
	if !r.ReadOnly || r.Moves || r.Asking || r.Caller == nil || !r.Caller.Waits() || c.proxy.Load() {
		return false
	}
	kind := kindOf(r.Buf)
	if !c.large.has(kind) {
		return false
	}
	var st *timing.Stat
	if c.stat != nil {
		st = c.stat(r)
	}
	return c.pool.Apart(r, cb, n, st, func(reply int) { c.large.sized(kind, reply) })
}

// block sends a request that may block on a dedicated connection.
func (c *Connection) block(r *send.Request, cb Future, n uint64) *errorx.Error {
	var st *timing.Stat
	if c.stat != nil {
		st = c.stat(r)
		r.Typed = r.Typed && st == nil // a logger needs the result, so the future must not decode the reply
	}
	return c.pool.Block(r, cb, n, st)
}

// askFuture asks the future what it can do, and records that in r. It refuses the request if the
// future is cancelled.
func askFuture(r *send.Request, cb Future) (refused *errorx.Error) {
	if cb != nil {
		if err := cb.Cancelled(); err != nil {
			return redis.ErrRequestWithdrawn.Wrap(err, "cancelled before it was sent")
		}
	}
	_, namer := cb.(send.Namer)
	r.Caller, r.Plain, r.Observed = send.CallerOf(cb), cb != nil && !namer, send.Observes(cb)
	return nil
}

// encodeTo encodes a request into s and describes it in r, which has no Buf yet.
func encodeTo(s *send.Scratch, r *send.Request, req Request) *errorx.Error {
	var err error
	s.Buf, err = backend.EncodeTo(r, s.Buf, req, false)
	return redis.AsErrorx(err)
}

// checkEncoded returns an error if the request must not be sent with these flags.
func (c *Connection) checkEncoded(r *send.Request, flags int) *errorx.Error {
	if r.Shared == command.Allowed {
		return nil
	}
	single := c.opts.ScriptMode && !(flags&DoTransaction != 0 && command.BoundsTransaction(r.Cmd))
	return redis.AsErrorx(redis.CheckRequest(Request{Cmd: r.Cmd, Args: r.Args()}, single))
}
