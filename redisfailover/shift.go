package redisfailover

import (
	"time"

	"github.com/joomcode/redispipe/internal/pause"
	"github.com/joomcode/redispipe/redis"
)

// run starts the goroutines of the client: one judges the members, and one for each member probes it,
// and opens it if Open could not. They end with the client's context.
func (c *Client) run() {
	go c.judge()
	for _, m := range c.members {
		go c.attend(m)
	}
}

// judge looks at the members with each tick.
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
	from := c.active.Load().member
	to, reason := c.next(now, from)
	if to == nil {
		return events
	}
	c.shifted = now
	return append(events, c.shift(to, reason))
}

// judged finds out whether the member is up, and returns an event if that has changed. Client.mu is held.
func (m *member) judged(now time.Time, late bool) LogEvent {
	m.health.tick(now, count{m.good.Load(), m.bad.Load()}, late)
	switch {
	case m.opened == nil:
		return nil
	case m.up && m.health.isDown(now, m.opts.Patience, m.opts.FailureRate):
		m.up, m.since = false, now
		m.probes.Store(0)
		return LogDown{Member: m.name, Error: m.lastFailure()}
	case !m.up && m.probes.Load() >= leastProbes && !m.health.isDown(now, m.opts.Patience, m.opts.FailureRate):
		m.up, m.since = true, now
		m.failure.Store(nil)
		return LogUp{Member: m.name}
	}
	return nil
}

// next decides which member must replace the active one now, and why. It returns nil if the active
// member stays. Client.mu is held.
func (c *Client) next(now time.Time, active *member) (*member, Reason) {
	switch {
	case !c.shifted.IsZero() && now.Sub(c.shifted) < c.opts.between():
		return nil, 0
	case !active.up:
		return c.best(func(m *member) bool { return m.up }), Failed
	case active != c.preferred && c.preferred.up && c.opts.Failback > 0 && now.Sub(c.preferred.since) >= c.opts.Failback:
		return c.preferred, Restored
	}
	return nil, 0
}

// shift begins a term of another member, and ends the present term. Client.mu is held.
func (c *Client) shift(to *member, reason Reason) LogShift {
	before := c.active.Swap(c.begin(to))
	before.end()
	event := LogShift{From: before.member.name, To: to.name, Reason: reason}
	if reason == Failed {
		event.Error = before.member.lastFailure()
	}
	return event
}

// switchTo is SwitchTo. It returns an event if another member is active now.
func (c *Client) switchTo(m *member) (*LogShift, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.ctx.Err() != nil:
		return nil, redis.ErrContextClosed.New("the client is closed")
	case !m.up:
		return nil, ErrMembers.New("%s is down", m.name)
	}
	c.preferred = m
	if c.active.Load().member == m {
		return nil, nil
	}
	event := c.shift(m, Switched)
	return &event, nil
}

// attend probes a member, and opens it if Open could not.
func (c *Client) attend(m *member) {
	every := c.opts.Patience / windowTicks * probeTicks
	tick := time.NewTicker(every)
	defer tick.Stop()
	for tries := 0; m.opened == nil; tries++ { // nobody else sets it
		if _, err := pause.For(c.ctx, pause.Around(pause.Doubled(every, c.opts.between(), tries)), nil); err != nil {
			return
		}
		_ = c.openOne(c.ctx, m) // it has noted the error
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
