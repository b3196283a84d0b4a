package redisconn

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/sock"
	"github.com/joomcode/redispipe/internal/timing"
	"github.com/joomcode/redispipe/redis"
)

// run is the lifecycle goroutine: it dials, looks after the session, and
// dials again, until the connection is closed. It is started by Connect and
// ends with the context. What came of the first attempt is sent to result.
func (c *Connection) run(result chan<- error, corrected []LogOptCorrected) {
	defer close(c.ended)
	for _, event := range corrected {
		c.report(event)
	}
	for failures, broken := 0, 0; ; {
		began := time.Now()
		c.report(LogConnecting{})
		s, err := c.attempt()
		if err != nil {
			c.report(LogConnectFailed{Error: err})
			failures++
		} else {
			failures = 0
		}
		if result != nil {
			result <- c.connectResult(err)
			result = nil
		}
		if s != nil {
			s.monitor()
			err = s.end()
			if broken++; s.wasOfUse(time.Since(began)) {
				broken = 0
			}
		}
		if c.opts.ReconnectPause < 0 {
			c.Close()
		}
		switch {
		case c.ctx.Err() != nil:
		case failures > 0:
			c.pause(failures-2, began)
		case broken > 1:
			c.pause(min(broken-brokenGrace-1, 0), began)
		}
		if c.ctx.Err() != nil {
			c.finish(err)
			return
		}
		c.connecting()
	}
}

// A session that breaks is replaced at once, so that a lost connection costs
// no more than it must. When one after the other was of no use, the pauses grow
// up to ReconnectPause: the eighth is half as long.
const brokenGrace = 8

// usefulLeast is the least life of a session that was of use. It bounds how
// often a server is dialed that answers something and breaks the connection.
const usefulLeast = 10 * time.Millisecond

// wasOfUse reports whether the session has answered anything, and has not broken
// as soon as it began.
func (s *session) wasOfUse(life time.Duration) bool {
	return s.Received() > 0 && life >= usefulLeast || life >= s.c.opts.ReconnectPause
}

// attempt makes a session and starts its goroutines.
func (c *Connection) attempt() (*session, *errorx.Error) {
	greeted, err := c.open(c.ctx)
	if err != nil {
		err = c.withConn(err)
		c.disconnected(err)
		unsent := err
		if c.ctx.Err() != nil {
			unsent = c.unsentError(err)
		}
		c.abandon(unsent, unsent, nil)
		return nil, err
	}
	c.measured(greeted.trip)
	s := newSession(c, greeted)
	c.sockets.Store(&socketAddrs{sock.Text(greeted.LocalAddr()), sock.Text(greeted.RemoteAddr())})
	go s.writeLoop()
	go s.readLoop()
	c.connected(s)
	c.report(LogConnected{LocalAddr: c.LocalAddr(), RemoteAddr: c.RemoteAddr()})
	return s, nil
}

// connectResult is what Connect is to return after the first attempt.
func (c *Connection) connectResult(err *errorx.Error) error {
	switch {
	case err == nil:
		return nil
	case c.ctx.Err() != nil, c.opts.ReconnectPause < 0, err.HasTrait(ErrTraitInitPermanent):
		return err
	}
	return nil
}

// monitor watches the session until it fails or the context ends.
func (s *session) monitor() {
	check, timeout := s.c.opts.IOTimeout/6, s.c.opts.IOTimeout
	if timeout < 0 {
		check = defaultIOTimeout / 6
	}
	ticker := time.NewTicker(max(check, time.Millisecond))
	defer ticker.Stop()
	progress := progress{since: time.Now()}
	script := s.c.opts.ScriptMode
	for tick := 1; ; tick++ {
		select {
		case <-s.failed:
			return
		case <-s.c.ctx.Done():
			s.fail(errClosed())
			return
		case now := <-ticker.C:
			oldest, waits := s.c.queue.oldest()
			if script && waits {
				oldest.taken = progress.servedSince(now, oldest.seq)
			}
			patience := timing.Plus(timeout, oldest.blocks)
			if waits && timeout > 0 && progress.stalled(now, oldest.taken, s.Received(), patience) {
				s.fail(redis.ErrIO.New("no answer within %v", patience))
				return
			}
			if tick%2 != 0 {
				continue
			}
			if s.c.queue.trim() {
				s.NoteIdle()
			}
			if !script {
				s.beats.beat()
			}
		}
	}
}

// progress tells a server that has stopped answering from one that sends much.
type progress struct {
	since    time.Time
	received int64
	// seq and served are for servedSince.
	seq    uint64
	served time.Time
}

// servedSince returns since when the oldest batch has been so, as far as calls tell:
// before that the server may have blocked on others.
func (p *progress) servedSince(now time.Time, seq uint64) time.Time {
	if p.served.IsZero() || seq != p.seq {
		p.seq, p.served = seq, now
	}
	return p.served
}

// enoughProgress is what has to come in within a time-out for a connection to
// count as alive, though the oldest request is not answered: a link that is
// slower than this, 64 KiB/s by default, is of no use.
const enoughProgress = 64 << 10

// stalled reports whether the oldest request has waited for the time-out with
// too little coming in.
func (p *progress) stalled(now, oldest time.Time, received int64, timeout time.Duration) bool {
	if received-p.received >= enoughProgress {
		p.since, p.received = now, received
	}
	if oldest.After(p.since) {
		p.since, p.received = oldest, received
	}
	return now.Sub(p.since) >= timeout
}

// end resolves what is left of a failed session, and ends its writer. The
// reader ends by itself, when no future holds it.
func (s *session) end() *errorx.Error {
	c := s.c
	err := c.withConn(s.err)
	c.disconnected(err) // it may have failed before it was connected
	if c.ctx.Err() != nil {
		c.closed()
	}
	c.abandon(c.unsentError(err), s.unknownError(), s.badReply)
	close(s.quit)
	c.report(LogDisconnected{Error: err, LocalAddr: c.LocalAddr(), RemoteAddr: c.RemoteAddr()})
	c.sockets.Store(nil)
	return err
}

// unknownError is what requests get that were written, at least in part, when
// the session failed.
func (s *session) unknownError() *errorx.Error {
	if s.err.IsOfType(redis.ErrIO) {
		return s.c.withConn(s.err)
	}
	return s.c.withConn(redis.ErrIO.Wrap(s.err, "connection lost"))
}

// unsentError is what requests get that were not written when the session failed.
func (c *Connection) unsentError(err *errorx.Error) *errorx.Error {
	if c.ctx.Err() != nil {
		return c.withConn(errClosed())
	}
	return c.withConn(ErrNotConnected.Wrap(err, "connection lost"))
}

// abandon resolves all that is queued or in flight. badReply, if not nil, is for
// the oldest request.
func (c *Connection) abandon(unsent, unknown, badReply *errorx.Error) {
	inflight, open := c.queue.abort()
	l := &leftovers{c: c}
	if badReply != nil {
		l.badReply = c.withConn(badReply)
	}
	l.collect(inflight, unsent, unknown)
	l.collect(open, unsent, unknown)
	c.queue.countLeft(l.notSent, l.unknown)
	l.resolveAll()
}

// finish ends a connection whose context has ended.
func (c *Connection) finish(err *errorx.Error) {
	c.Close()
	closed := c.unsentError(err)
	c.abandon(closed, closed, nil)
	c.pool.close()
	c.report(LogContextClosed{Error: context.Cause(c.ctx)})
}

// pause waits before the next attempt, counted from the start of the last.
// The wait is drawn from all of the interval, so that the clients of a server
// that comes back do not come all at once. The interval is ReconnectPause, so many
// times doubled or, if that is negative, halved.
func (c *Connection) pause(doubled int, began time.Time) {
	longest := timing.Times(c.opts.ReconnectPause, 1<<max(0, min(doubled, 10))) >> max(0, -doubled)
	longest = max(min(longest, c.opts.ReconnectPauseMax), time.Millisecond)
	timer := time.NewTimer(rand.N(longest) - time.Since(began))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-c.ctx.Done():
	}
}

// The changes of state.

func (c *Connection) connecting() { c.change(stateConnecting, nil, nil) }

func (c *Connection) disconnected(why *errorx.Error) { c.change(stateDisconnected, nil, why) }

func (c *Connection) connected(s *session) { c.change(stateConnected, s, nil) }

func (c *Connection) closed() { c.change(stateClosed, nil, nil) }

// lost is called by the session that fails.
func (c *Connection) lost(why *errorx.Error) { c.change(stateDisconnected, nil, why) }

// change changes the state. A closed connection stays closed.
func (c *Connection) change(to state, s *session, why *errorx.Error) {
	q := &c.queue
	q.mu.Lock()
	var start bool
	if q.state != stateClosed {
		q.countChangeLocked(to)
		q.state, q.session, q.why = to, s, why
		q.reading = readLoop // the loop of a new session begins with it
		start = s != nil && q.open != nil && !q.writing
		q.writing = q.writing || start
	}
	if !q.state.accepts() {
		q.admitWaitersLocked()
	}
	q.mu.Unlock()
	if start {
		s.wake <- struct{}{}
	}
}

// currentSession returns the session, or nil if there is none.
func (q *queue) currentSession() *session {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.session
}

func (c *Connection) currentState() state {
	c.queue.mu.Lock()
	defer c.queue.mu.Unlock()
	return c.queue.state
}
