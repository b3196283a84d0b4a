package redisconn

import (
	"context"
	"time"

	"github.com/joomcode/redispipe/internal/dial"
	"github.com/joomcode/redispipe/internal/lifetime"
	"github.com/joomcode/redispipe/internal/pubsub"
	"github.com/joomcode/redispipe/redisconn/internal/engine"
)

// workMost is how long the work of a server may take before the time-out of requests applies again, if the server
// does not say when it ends.
const workMost = time.Minute

// handed is a session that continues an earlier one, with its socket.
type handed struct {
	s       *engine.Session
	greeted *dial.Socket
}

// heard is called with each push that arrives on the shared socket. It reports announcements of maintenance, and acts
// on them. Malformed ones have no time.
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
		c.pipe.Relax(c.silence()) // what has waited for longer gets that much time
	case work.Kind != "MOVING":
		c.pipe.Relax(work.In + workMost)
	case work.In > 0 && c.tracking == nil:
		c.pipe.Relax(work.In)
		if s := c.pipe.Session(); c.moving.Swap(s) != s {
			go c.move(s, work.Endpoint, time.Now().Add(work.In))
		}
	}
}

// move hands session s over to a socket to another address. It is started by heard, once at a time for each session,
// and ends when that is done, when the time has passed by which the server closes the present socket, or with the
// session.
//
// If the address stays the same, it will lead to the new server when half of that time has passed.
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

// moveOnce dials once, and reports whether that has succeeded. Nobody changes the credentials until the session is
// handed over, because AUTH on its present socket would not reach the new one. For that moveOnce has reauth, so
// sessions are also handed over one after the other.
func (c *Connection) moveOnce(ctx context.Context, s *engine.Session, to *dial.Address, until time.Time) (dialed bool) {
	select {
	case c.reauth <- struct{}{}:
		defer func() { <-c.reauth }()
	case <-ctx.Done():
		return false
	}
	greeted, err := c.open(ctx, to)
	if err != nil {
		if ctx.Err() == nil {
			c.report(LogConnectFailed{Error: c.withConn(err)})
		}
		return false
	}
	if to != nil {
		c.dialer.Move(*to, until)
	}
	if next := c.pipe.HandOver(s, greeted.Socket); next != nil {
		c.pool.Outdate(greeted.Credentials) // its connections lead to the earlier address
		c.handed <- handed{next, greeted}
	} else {
		_ = greeted.Close()
	}
	return true
}

// watch watches sessions until one fails, and returns it. A session that was handed over is followed by the next.
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
