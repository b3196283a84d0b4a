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
		c.beginMove(work.Endpoint, time.Now().Add(work.In))
	}
}

// staysOn reports whether the connection depends on the state of its socket, so it is not handed over. Only the
// server of the socket knows the tracked keys, and in ScriptMode the user may have sent MULTI, WATCH or SELECT.
func (c *Connection) staysOn() bool { return c.tracking != nil || c.opts.ScriptMode }

// move hands a session over to a socket with another address.
type move struct {
	from   *engine.Session
	to     *dial.Address   // nil for the connection's own address
	until  time.Time       // when the server closes the socket of from
	ctx    context.Context // ends at that time, or when the server announces another address
	cancel context.CancelFunc
	ended  chan struct{}   // closed when the move has ended
	next   *engine.Session // the session that has replaced from, or nil; does not change any more when ended is closed
}

// beginMove begins to hand the current session over to endpoint. An earlier move of this session to another address
// ends. If endpoint is empty, the address does not change.
func (c *Connection) beginMove(endpoint string, until time.Time) {
	m := &move{from: c.pipe.Session(), until: until, ended: make(chan struct{})}
	if endpoint != "" {
		to, err := dial.ParseEndpoint(endpoint)
		if err != nil {
			return
		}
		m.to = &to
	}
	before := c.moving.Load()
	if before != nil && before.from == m.from && (before.to == m.to || before.to != nil && m.to != nil && *before.to == *m.to) {
		return
	}
	m.ctx, m.cancel = context.WithDeadline(c.ctx, until)
	c.moving.Store(m)
	if before != nil {
		before.cancel()
	}
	go c.move(m, before)
}

// move hands the session over. It tries until it succeeds, until the session ends, or until m.ctx is done. beginMove
// starts it in a goroutine of its own. Moves run one after the other: before, if not nil, is the move that m replaces,
// and move first waits until it has ended.
//
// The connection's own address leads to the new server after half of the time. So move waits for that long before
// it dials this address.
func (c *Connection) move(m, before *move) {
	defer close(m.ended)
	defer c.moving.CompareAndSwap(m, nil)
	defer m.cancel()
	s := m.from
	if before != nil {
		if <-before.ended; before.from == s && before.next != nil {
			s = before.next
		}
	}
	if m.to == nil {
		if ended, err := lifetime.Pause(m.ctx, time.Until(m.until)/2, s.Ended()); ended || err != nil {
			return
		}
	}
	for tries := 0; !c.moveOnce(m, s); tries++ {
		wait := lifetime.Jitter(lifetime.DoubledPause(100*time.Millisecond, 10*time.Second, tries))
		if ended, err := lifetime.Pause(m.ctx, wait, s.Ended()); ended || err != nil {
			return
		}
	}
}

// moveOnce dials once, and hands s over if that succeeds. It reports whether the move has ended. It holds
// reauth, so that nobody changes the credentials at the same time: AUTH on the old socket would not reach the new
// one.
func (c *Connection) moveOnce(m *move, s *engine.Session) (ended bool) {
	select {
	case c.reauth <- struct{}{}:
		defer func() { <-c.reauth }()
	case <-m.ctx.Done():
		return false
	}
	greeted, err := c.open(m.ctx, m.to)
	if err != nil {
		return false // no LogConnectFailed, because the connection has a socket
	}
	if m.to != nil {
		c.dialer.Move(*m.to, m.until)
	}
	if m.next = c.pipe.HandOver(m.ctx, s, greeted.Socket); m.next == nil {
		_ = greeted.Close()
		return c.pipe.Withheld()
	}
	c.pool.Outdate(greeted.Credentials) // the connections of the pool lead to the earlier address
	c.handed <- handed{m.next, greeted}
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
