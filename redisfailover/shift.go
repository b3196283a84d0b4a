package redisfailover

import (
	"time"

	"github.com/joomcode/redispipe/internal/lifetime"
	"github.com/joomcode/redispipe/redis"
)

// run starts the goroutines of the client. One judges all members; another one for each member probes it,
// and opens it if Open could not. They end with the client's context.
func (c *Client) run() {
	go c.judge()
	for _, m := range c.members {
		go c.attend(m)
	}
}

// judge is the goroutine that calls look with each tick.
func (c *Client) judge() {
	tick := time.NewTicker(c.opts.Patience / windowTicks)
	defer tick.Stop()
	for {
		select {
		case <-c.ctx.Done():
			return
		case <-tick.C:
			for _, event := range c.look(time.Now()) {
				c.report(event)
			}
		}
	}
}

// look finds out which members are up, and shifts if another member must become active.
func (c *Client) look(now time.Time) (events []LogEvent) {
	c.mu.Lock()
	defer c.mu.Unlock()
	late := !c.looked.IsZero() && now.Sub(c.looked) > c.opts.Patience/2
	c.looked = now
	for _, m := range c.members {
		if event := m.judged(now, late); event != nil {
			events = append(events, event)
		}
	}
	if nodes := c.active.Load().nodes; nodes != nil && nodes.Changed() != c.seen {
		c.followLocked()
	}
	if event := c.moves(now, c.active.Load()); event != nil {
		events = append(events, event)
	}
	return events
}

// moves makes another member active if requests should go there now. Client.mu is held.
func (c *Client) moves(now time.Time, active *term) LogEvent {
	if active.back.Load() != nil {
		return c.ramped(now, active)
	}
	to, reason := c.next(now, active.member)
	switch {
	case to == nil:
		return nil
	case reason == Restored && c.opts.Ramp > 0:
		return c.beginRamp(now, active)
	}
	c.shifted = now
	return c.shift(c.begin(to), reason)
}

// next decides which member must replace the active one now, and why. It returns nil if the active
// member stays. Two shifts are at least Opts.Failback apart, except a shift from a dead member to a sound
// one. The client can't shift back at once, because the dead member is not sound until Opts.Failback has
// passed. Client.mu is held.
func (c *Client) next(now time.Time, active *member) (*member, Reason) {
	switch between := c.opts.between(); {
	case !c.shifted.IsZero() && now.Sub(c.shifted) < between:
		if active.up || !active.health.isDead(now, c.opts.Patience) {
			return nil, 0
		}
		return c.best(func(m *member) bool { return m.up && m.health.isSound(now, between) }), Failed
	case !active.up:
		return c.best(func(m *member) bool { return m.up }), Failed
	case active != c.preferred && c.preferred.up && c.opts.Failback > 0 && now.Sub(c.preferred.since) >= c.opts.Failback:
		return c.preferred, Restored
	}
	return nil, 0
}

// shift makes another term the active one, and ends the current one. Client.mu is held.
func (c *Client) shift(to *term, reason Reason) LogShift {
	before := c.active.Swap(to)
	before.failed.Store(reason == Failed)
	before.end()
	c.followLocked()
	if b := before.back.Load(); b != nil && b.to != to {
		b.to.end()
	}
	c.shifts[reason]++
	event := LogShift{From: before.member.name, To: to.member.name, Reason: reason}
	if reason == Failed {
		event.Error = before.member.lastFailure()
	}
	return event
}

// switchTo is SwitchTo. It returns an event if requests move.
func (c *Client) switchTo(m *member) (LogEvent, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.ctx.Err() != nil:
		return nil, redis.ErrContextClosed.New("the client is closed")
	case !m.up:
		return nil, ErrMembers.Wrap(m.lastFailure(), "%s is down", m.name)
	}
	c.preferred = m
	active := c.active.Load()
	b := active.back.Load()
	switch {
	case active.member != m && b != nil && b.to.member == m:
		return c.shift(b.to, Switched), nil
	case active.member != m:
		return c.shift(c.begin(m), Switched), nil
	case b != nil:
		return c.endRamp(time.Now(), active, nil), nil
	}
	return nil, nil
}

// attend probes a member, and opens it if Open could not.
func (c *Client) attend(m *member) {
	every := c.opts.Patience / windowTicks * probeTicks
	tick := time.NewTicker(every)
	defer tick.Stop()
	for tries := 0; m.opened == nil; tries++ { // only this goroutine sets m.opened now
		if _, err := lifetime.Pause(c.ctx, lifetime.Jitter(lifetime.DoubledPause(every, c.opts.between(), tries)), nil); err != nil {
			return
		}
		if up, _ := c.openOne(c.ctx, m); up { // openOne has recorded an error
			c.report(LogUp{Member: m.name})
		}
	}
	for {
		select {
		case <-c.ctx.Done():
			return
		case <-tick.C:
			m.probe(c.ctx, m.sender)
		}
	}
}
