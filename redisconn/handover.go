package redisconn

import (
	"context"
	"sync"
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

// order tells which of two announcements is newer: the one with the greater order, or the later one of two with the
// same order.
type order uint64

// orderOf returns the order of what a socket announces in its handshake, or after that.
func orderOf(at *dial.Socket, handshake bool) order {
	o := order(2 * at.Number)
	if !handshake {
		o++
	}
	return o
}

// heardEarly acts on the pushes that have arrived in the handshake of a socket that is now in use. Later ones may
// have been heard before.
func (c *Connection) heardEarly(at *dial.Socket) {
	for _, push := range at.Early {
		c.heard(orderOf(at, true), push)
	}
}

// heard is called with each push that arrives on a shared socket. It reports announcements of
// maintenance and acts on them. In malformed announcements, work.In is zero.
func (c *Connection) heard(at order, push []any) {
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
		c.hearMove(at, work)
	}
}

// staysOn reports whether the connection depends on the state of its socket, so it is not handed over. Only the
// server of the socket knows the tracked keys, and in ScriptMode the user may have sent MULTI, WATCH or SELECT.
func (c *Connection) staysOn() bool { return c.tracking != nil || c.opts.ScriptMode }

// moves are the announcements that the server moves. Only the newest one counts.
type moves struct {
	mu     sync.Mutex         // guards the fields below
	newest *move              // what the server announced last; nil if the connection has acted on it
	at     order              // when it was announced
	cancel context.CancelFunc // ends the attempt to act on an earlier announcement
}

// move is an announcement that the server moves.
type move struct {
	endpoint string       // as announced; empty if the address does not change
	to       dial.Address // the address to dial
	from     time.Time    // when to dial; the goroutine of Connection.move owns it once it acts on the move
	until    time.Time    // when the server closes its socket
}

// hearMove records an announcement as the newest one. If the connection acts on an earlier one, that attempt
// ends, unless both lead to the same address. The connection's own address leads to the new server after half of the
// time, so it is not dialed before that. An announcement is ignored if a newer one was heard before.
func (c *Connection) hearMove(at order, work pubsub.Work) {
	now := time.Now()
	m := &move{endpoint: work.Endpoint, to: c.dialer.Address, from: now.Add(work.In / 2), until: now.Add(work.In)}
	if work.Endpoint != "" {
		to, err := dial.ParseEndpoint(work.Endpoint)
		if err != nil {
			return
		}
		m.to, m.from = to, now
	}
	c.moves.mu.Lock()
	defer c.moves.mu.Unlock()
	if at < c.moves.at {
		return
	}
	before := c.moves.newest
	c.moves.newest, c.moves.at = m, at
	switch {
	case before == nil:
		go c.move(c.moves.beginLocked(c.ctx))
	case !m.repeats(before):
		c.moves.cancel()
	}
}

// repeats reports whether m has the address of before. The connection's own address leads to the new server only
// later, so an announcement of it repeats none.
func (m *move) repeats(before *move) bool { return m.endpoint != "" && m.endpoint == before.endpoint }

// beginLocked begins an attempt to act on the newest announcement. The attempt ends with ctx.
func (o *moves) beginLocked(parent context.Context) (ctx context.Context, m *move) {
	ctx, o.cancel = context.WithDeadline(parent, o.newest.until)
	return ctx, o.newest
}

// after begins the attempt that follows the one for m. It returns nil if m is the newest announcement.
func (o *moves) after(parent context.Context, m *move) (context.Context, *move) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.cancel()
	if o.newest == m {
		o.newest = nil
		return nil, nil
	}
	return o.beginLocked(parent)
}

// move acts on m, and then on newer announcements, until there is none. hearMove starts it in a goroutine of its
// own. If an announcement only repeats the last one with a later time, move does not dial again. Each new server may
// announce another one in the handshake, so move pauses before it follows again.
func (c *Connection) move(ctx context.Context, m *move) {
	followed := 0
	for done := (*move)(nil); m != nil; ctx, m = c.moves.after(c.ctx, m) {
		if done != nil && m.repeats(done) {
			c.dialer.Move(m.to, m.until)
			continue
		}
		if followed > 0 {
			m.delay(lifetime.DoubledPause(10*time.Millisecond, 10*time.Second, followed-1))
		}
		done = nil
		if c.moveTo(ctx, m) {
			done = m
			followed++
		}
	}
}

// delay makes the connection act on m after the pause, or later.
func (m *move) delay(pause time.Duration) {
	if from := time.Now().Add(pause); from.After(m.from) {
		m.from = from
	}
}

// moveTo hands the current session over. It tries until it succeeds, until the session ends, or until ctx is done.
func (c *Connection) moveTo(ctx context.Context, m *move) (done bool) {
	s := c.pipe.Session()
	if wait := time.Until(m.from); wait > 0 {
		if ended, err := lifetime.Pause(ctx, wait, s.Ended()); ended || err != nil {
			return false
		}
	}
	for tries := 0; !c.pipe.Withheld(); tries++ {
		if c.moveOnce(ctx, m, s) {
			return true
		}
		wait := lifetime.Jitter(lifetime.DoubledPause(100*time.Millisecond, 10*time.Second, tries))
		if ended, err := lifetime.Pause(ctx, wait, s.Ended()); ended || err != nil {
			return false
		}
	}
	return false
}

// moveOnce dials once, and hands s over if that succeeds. It holds reauth, so that nobody changes the credentials
// at the same time: AUTH on the old socket would not reach the new one.
func (c *Connection) moveOnce(ctx context.Context, m *move, s *engine.Session) (done bool) {
	select {
	case c.reauth <- struct{}{}:
		defer func() { <-c.reauth }()
	case <-ctx.Done():
		return false
	}
	greeted, err := c.open(ctx, &m.to)
	if err != nil {
		return false // no LogConnectFailed, because the connection has a socket
	}
	c.dialer.Move(m.to, m.until)
	next := c.pipe.HandOver(ctx, s, greeted.Socket)
	if next == nil {
		_ = greeted.Close()
		return false
	}
	c.pool.Outdate(greeted.Credentials) // the connections of the pool lead to the earlier address
	c.trackers.leave()
	c.handed <- handed{next, greeted}
	c.heardEarly(greeted)
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
