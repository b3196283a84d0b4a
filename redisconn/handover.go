package redisconn

import (
	"context"
	"time"

	"github.com/joomcode/redispipe/internal/dial"
	"github.com/joomcode/redispipe/internal/lifetime"
	"github.com/joomcode/redispipe/internal/pubsub"
	"github.com/joomcode/redispipe/redisconn/internal/engine"
)

// workMost is how long the maintenance of a server may raise the time-out of requests, if the server does
// not say when the maintenance ends.
const workMost = time.Minute

// handed is a session that has replaced another one through HandOver, with its socket.
type handed struct {
	s       *engine.Session
	greeted *dial.Socket
}

// heard is called with each push that arrives on the shared socket. It reports announcements of
// maintenance and acts on them. In malformed announcements, work.In is zero.
func (c *Connection) heard(push []any) {
	if len(push) == 0 {
		return
	}
	work, known := pubsub.ParseWork(pubsub.Text(push[0]), push[1:])
	if !known {
		return
	}
	if _, ok := c.announced.Admit(time.Now()); ok {
		c.report(LogMaintenance(work))
	}
	switch {
	case work.Ends():
		c.pipe.Relax(c.silence()) // requests that have waited for longer than the time-out get as much time again
	case work.Kind != "MOVING":
		c.pipe.Relax(work.In + workMost)
	case work.In > 0 && !c.staysOn():
		c.pipe.Relax(work.In)
		if s := c.pipe.Session(); c.moving.Swap(s) != s {
			go c.move(s, work.Endpoint, time.Now().Add(work.In))
		}
	}
}

// staysOn reports whether the connection depends on the state of its socket, so it is not handed over. Only the
// server of the socket knows the tracked keys, and in ScriptMode the user may have sent MULTI, WATCH or SELECT.
func (c *Connection) staysOn() bool { return c.tracking != nil || c.opts.ScriptMode }

// move hands session s over to a socket with the address endpoint. It tries until it succeeds, until s
// ends, or until the given time, at which the server closes the socket of s. heard starts it in a goroutine
// of its own, one for a session at a time.
//
// If endpoint is empty, the address does not change, and leads to the new server after half of the time.
// So move first waits for that long.
func (c *Connection) move(s *engine.Session, endpoint string, until time.Time) {
	defer c.moving.CompareAndSwap(s, nil)
	ctx, cancel := context.WithDeadline(c.ctx, until)
	defer cancel()
	var to *dial.Address
	if endpoint == "" {
		if ended, err := lifetime.Pause(ctx, time.Until(until)/2, s.Ended()); ended || err != nil {
			return
		}
	} else if a, err := dial.ParseEndpoint(endpoint); err == nil {
		to = &a
	} else {
		return
	}
	for tries := 0; !c.moveOnce(ctx, s, to, until); tries++ {
		wait := lifetime.Jitter(lifetime.DoubledPause(100*time.Millisecond, 10*time.Second, tries))
		if ended, err := lifetime.Pause(ctx, wait, s.Ended()); ended || err != nil {
			return
		}
	}
}

// moveOnce dials once, and hands the session over if that succeeds. It reports whether dialing has
// succeeded. It holds reauth, so that nobody changes the credentials at the same time: AUTH on the old socket
// would not reach the new one. So only one session at a time is handed over.
func (c *Connection) moveOnce(ctx context.Context, s *engine.Session, to *dial.Address, until time.Time) (dialed bool) {
	select {
	case c.reauth <- struct{}{}:
		defer func() { <-c.reauth }()
	case <-ctx.Done():
		return false
	}
	greeted, err := c.open(ctx, to)
	if err != nil {
		return false // no LogConnectFailed, because the connection has a socket
	}
	if to != nil {
		c.dialer.Move(*to, until)
	}
	if next := c.pipe.HandOver(s, greeted.Socket); next != nil {
		c.pool.Outdate(greeted.Credentials) // the connections of the pool lead to the earlier address
		c.handed <- handed{next, greeted}
	} else {
		_ = greeted.Close()
	}
	return true
}

// watch watches s until it fails, and returns it. If s is handed over, watch continues with the session
// that has replaced s.
func (c *Connection) watch(s *engine.Session) *engine.Session {
	for {
		s.Watch()
		if c.pipe.Session() == s {
			return s
		}
		next := <-c.handed
		c.use(next.greeted)
		c.connected(next.greeted)
		s = next.s
	}
}
