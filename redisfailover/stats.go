package redisfailover

import (
	"time"

	"github.com/joomcode/redispipe/redis"
)

// Stats are the statistics of a client: see [Client.Stats].
type Stats struct {
	// Members are the states of the members, in the order of their weights.
	Members []MemberState
	// Failed, Restored and Switched count the shifts by their [Reason].
	Failed, Restored, Switched uint64
}

// MemberState is the state of a member: see [Client.Members].
type MemberState struct {
	Name   string
	Weight int
	// Active is set if requests go to the member.
	Active bool
	// Share is the share of the keys whose requests go to the member, from 0 to 1. It is above 0 for two
	// members only while keys move (Opts.Ramp).
	Share float64
	// Up is set if the member is open and not down.
	Up bool
	// Since is the time when Up last changed, or the member was opened.
	Since time.Time
	// Err is the last failure of a request or a probe, nil if there was none since the member came up.
	Err error
	// Sender is the member itself: for a URL, a *redispipe.Client. Use it for everything that belongs to
	// one member, such as a Subscriber. It is nil until the member is open. Requests through it do not
	// count for the member's state.
	Sender redis.Sender
}

// Members returns the members with their states, in the order of their weights.
func (c *Client) Members() []MemberState {
	if !c.opened() {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.statesLocked()
}

// Stats returns a snapshot of the client's statistics.
func (c *Client) Stats() Stats {
	if !c.opened() {
		return Stats{}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return Stats{Members: c.statesLocked(), Failed: c.shifts[Failed], Restored: c.shifts[Restored], Switched: c.shifts[Switched]}
}

func (c *Client) statesLocked() []MemberState {
	active := c.active.Load()
	b := active.back.Load()
	states := make([]MemberState, len(c.members))
	for i, m := range c.members {
		s := MemberState{Name: m.name, Weight: m.Weight, Active: m == active.member, Up: m.up, Since: m.since, Err: m.lastFailure(), Sender: m.opened}
		switch {
		case b != nil && m == b.to.member:
			s.Share = b.share()
		case b != nil && s.Active:
			s.Share = 1 - b.share()
		case s.Active:
			s.Share = 1
		}
		states[i] = s
	}
	return states
}
