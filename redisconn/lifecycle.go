package redisconn

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/dial"
	"github.com/joomcode/redispipe/internal/errs"
	"github.com/joomcode/redispipe/internal/lifetime"
	"github.com/joomcode/redispipe/internal/sock"
	"github.com/joomcode/redispipe/internal/timing"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn/internal/engine"
)

// run is the lifecycle goroutine: it dials, watches the session, and dials again, until the
// connection is closed. Connect starts it, and it ends with the connection's context. making limits
// the first attempt. run sends the outcome of that attempt to result; if it is an error, run closes
// the connection.
func (c *Connection) run(making context.Context, result chan<- error, corrected []LogOptCorrected) {
	defer close(c.ended)
	for _, event := range corrected {
		c.report(event)
	}
	for failures, broken := 0, 0; ; {
		began := time.Now()
		c.report(LogConnecting{})
		s, err := c.attempt(making)
		if err != nil {
			c.report(LogConnectFailed{Error: err})
			failures++
		} else {
			failures = 0
		}
		if result != nil {
			failure := c.connectResult(making, err)
			if failure != nil {
				c.close("Connect has failed")
			}
			result <- failure
			making, result = c.ctx, nil
		}
		if s != nil {
			s = c.watch(s)
			if broken++; c.wasOfUse(s, time.Since(began)) {
				broken = 0
			}
			err = c.end(s)
		}
		if c.opts.ReconnectPause < 0 {
			c.close("the connection was lost, and Opts.ReconnectPause is negative")
		}
		switch {
		case c.ctx.Err() != nil:
		case failures > 0:
			c.pause(failures-2, began)
		case broken > 1:
			most := 0
			if c.peer.Lean {
				most = brokenLean
			}
			c.pause(min(broken-brokenGrace-1, most), began)
		}
		if c.pipe.Draining() {
			<-c.ctx.Done() // Shutdown may still wait for requests on other sockets
		}
		if c.ctx.Err() != nil {
			c.finish(err)
			return
		}
		c.connecting()
	}
}

// The connection replaces a broken session at once, to lose as little time as possible. After
// several sessions in a row that were not useful, it pauses. Pauses grow with each such session, up
// to ReconnectPause. After brokenGrace such sessions, the bound of the pause is half of
// ReconnectPause.
const brokenGrace = 8

// brokenLean bounds these pauses behind a proxy that closes the connection at commands that it does not
// know: it is the number of times that ReconnectPause is doubled. Here it is negative, so the pauses
// are short. They delay all requests, although only one request made the proxy close the connection.
const brokenLean = -5

// usefulLeast is the shortest life of a useful session. It limits how often the connection dials a
// server that answers something and then closes the socket.
const usefulLeast = 10 * time.Millisecond

// wasOfUse reports whether the session was useful: the server has answered something after the
// handshake, and the session did not break as soon as it started.
func (c *Connection) wasOfUse(s *engine.Session, life time.Duration) bool {
	answered := s.Socket.Received() > c.sockets.Load().greeting
	return answered && life >= usefulLeast || life >= c.opts.ReconnectPause
}

// attempt opens a session and starts its goroutines.
func (c *Connection) attempt(ctx context.Context) (*engine.Session, *errorx.Error) {
	greeted, err := c.open(ctx, nil)
	if err != nil {
		err = c.withConn(err)
		c.disconnected(err)
		unsent := err
		if c.ctx.Err() != nil {
			unsent = c.unsentError(err)
		}
		c.pipe.Abandon(nil, unsent)
		return nil, err
	}
	c.use(greeted)
	s := c.pipe.Start(greeted.Socket)
	c.connected(greeted)
	c.heardEarly(greeted)
	return s, nil
}

// open opens a socket for requests. It dials the given address or, if to is nil, the connection's own one.
func (c *Connection) open(ctx context.Context, to *dial.Address) (greeted *dial.Socket, err *errorx.Error) {
	if c.staysOn() {
		greeted, err = c.dialer.Open(ctx)
	} else {
		greeted, err = c.dialer.OpenHearing(ctx, to)
	}
	if err != nil {
		return nil, err
	}
	if c.tracking != nil {
		greeted.Dec.OnPush(c.tracking.told)
	}
	greeted.Dec.OnSkipped(func(push []any) { c.heard(orderOf(greeted, false), push) })
	return greeted, nil
}

// use sets the socket whose addresses and properties the connection reports.
func (c *Connection) use(greeted *dial.Socket) {
	c.measured(greeted.Trip)
	c.sockets.Store(&socketAddrs{
		local: sock.Text(greeted.LocalAddr()), remote: sock.Text(greeted.RemoteAddr()),
		user: userOf(greeted.Credentials), greeting: greeted.Received(),
	})
	c.proxy.Store(greeted.Peer.Proxy())
}

// connected reports a socket that is in use.
func (c *Connection) connected(greeted *dial.Socket) {
	c.report(LogConnected{LocalAddr: c.LocalAddr(), RemoteAddr: c.RemoteAddr()})
	if c.peer != greeted.Peer {
		c.peer = greeted.Peer
		c.report(LogPeerLimited{without(c.peer)})
	}
}

// connectResult returns the result of Connect after the first attempt.
func (c *Connection) connectResult(making context.Context, err *errorx.Error) error {
	switch {
	case err == nil:
		return nil
	case c.ctx.Err() != nil, lifetime.Reason(making) != nil, c.opts.ReconnectPause < 0, err.HasTrait(ErrTraitInitPermanent):
		return err
	}
	return nil
}

// end resolves the unanswered requests of a failed session, and ends its writer. The reader ends by
// itself, as soon as no future blocks it.
func (c *Connection) end(s *engine.Session) *errorx.Error {
	if c.tracking != nil {
		c.tracking.ended()
	}
	err := c.withConn(s.Err())
	c.disconnected(err) // from now on, requests are refused with this error, which has the address
	if c.ctx.Err() != nil {
		c.closed()
	}
	c.pipe.Abandon(s, c.unsentError(err))
	c.report(LogDisconnected{Error: err, LocalAddr: c.LocalAddr(), RemoteAddr: c.RemoteAddr()})
	c.sockets.Store(&socketAddrs{})
	return err
}

// unsentError returns the error of requests that were not written when the session failed.
func (c *Connection) unsentError(err *errorx.Error) *errorx.Error {
	if c.ctx.Err() != nil {
		return c.errClosed()
	}
	return c.withConn(ErrNotConnected.Wrap(err, "connection lost"))
}

// finish reports that the connection was closed, and ends it. err is the reason.
func (c *Connection) finish(err *errorx.Error) {
	c.Close()
	closed := c.unsentError(err)
	c.pipe.Abandon(nil, closed)
	c.pool.Close()
	c.report(LogContextClosed{Error: context.Cause(c.ctx)})
}

// pause waits before the next attempt. The wait counts from began, when the last attempt started.
// It is random, between zero and a bound, so that the clients of a server that comes back do not
// all dial at the same time. The bound is ReconnectPause, doubled as often as doubled says, or
// halved if that is negative. It is at most ReconnectPauseMax.
func (c *Connection) pause(doubled int, began time.Time) {
	longest := timing.Times(c.opts.ReconnectPause, 1<<max(0, min(doubled, 10))) >> max(0, -doubled)
	longest = max(min(longest, c.opts.ReconnectPauseMax), time.Millisecond)
	_, _ = lifetime.Pause(c.ctx, rand.N(longest)-time.Since(began), nil)
}

// The following methods change the state.

func (c *Connection) connecting() { c.pipe.Change(engine.Connecting, nil, nil) }

func (c *Connection) disconnected(why *errorx.Error) { c.pipe.Change(engine.Disconnected, nil, why) }

func (c *Connection) closed() { c.pipe.Change(engine.Closed, nil, nil) }

// ErrShutdown is returned by Shutdown when requests were left.
var ErrShutdown = redis.Errors.NewType("shutdown")

var (
	// EKUnsent is the number of requests that were not sent (int).
	EKUnsent = errs.NewPrintableProperty("unsent")
	// EKUnknown is the number of requests that were sent and not answered (int).
	EKUnknown = errs.NewPrintableProperty("unknown")
)

// Shutdown refuses new requests, waits until the accepted ones are answered or ctx is done, and
// then closes the connection. It also waits for the reads of a cache, for calls of DoStream and for
// open sessions, which may still send any command that does not block. It unblocks blocking
// commands: they return the element that the server has given them, or fail with
// [redis.ErrContextClosed] as not sent. If requests are left when ctx is done, Shutdown resolves
// them like Close, and returns an [ErrShutdown] with their number. Each open session counts as one
// request.
func (c *Connection) Shutdown(ctx context.Context) error {
	if ctx == nil {
		return redis.Err(errs.NilContext())
	}
	if !c.opened() {
		return nil
	}
	defer c.Close()
	shared{c}.DrainBeside() // drain the other sockets now; the loop below waits for them
	c.pipe.Drain()          // CLIENT UNBLOCK, as one of the library's own requests, still enters
	for _, drained := range []func() <-chan struct{}{c.pool.Shut, c.pipe.Drain, c.streams.Shut, c.trackers.drain, c.pool.Drained} {
		select {
		case <-drained():
		case <-c.ctx.Done():
			return nil
		case <-ctx.Done():
			return c.errLeft(ctx)
		}
	}
	return nil
}

// errLeft returns an error with the number of requests left, or nil if there are none.
func (c *Connection) errLeft(ctx context.Context) error {
	unsent, unknown := c.left()
	if unsent+unknown == 0 {
		return nil
	}
	return redis.Err(ErrShutdown.Wrap(lifetime.Reason(ctx), "requests are left").
		WithProperty(EKUnsent, unsent).WithProperty(EKUnknown, unknown))
}

// left counts the pending requests. Each open session, and each call of DoStream, counts as one
// of unknown outcome.
func (c *Connection) left() (unsent, unknown int) {
	unsent, unknown = c.pipe.Left()
	granted, waiting := c.pool.Left()
	untold, reading := c.trackers.unanswered()
	return unsent + waiting + untold, unknown + granted + reading + c.streams.Calls()
}

// Pending returns the number of requests without an answer, written or not, plus the
// number of open sessions and of calls of DoStream. It does not count the library's own
// requests, such as heartbeats.
func (c *Connection) Pending() int {
	if !c.opened() {
		return 0
	}
	unsent, unknown := c.left()
	return unsent + unknown
}

// DrainBeside implements backend.Conn.
func (s shared) DrainBeside() {
	s.pool.Shut()
	s.trackers.drain()
	s.streams.Shut()
}
