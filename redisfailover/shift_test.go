package redisfailover

import (
	"context"
	"io"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redistest"
)

// clientOf returns a client of the members a, b and c with the weights 3, 2 and 1. The client does not judge
// its members by itself.
func clientOf(t *testing.T, opts Opts) *Client {
	opts.Logger = NoopLogger{}
	c := &Client{opts: opts.withDefaults(), moved: make(chan struct{})}
	var err error
	c.members, err = membersOf([]Member{
		{Name: "c", Weight: 1, Sender: redistest.NewMock(t)}, {Name: "a", Weight: 3, Sender: redistest.NewMock(t)}, {Name: "b", Weight: 2, Sender: redistest.NewMock(t)},
	}, &c.opts)
	require.NoError(t, err)
	c.preferred = c.members[0]
	c.ctx, c.cancel = context.WithCancelCause(t.Context())
	for _, m := range c.members {
		m.opened, m.sender, m.up = m.Sender, m.Sender, true
	}
	c.active.Store(c.begin(c.members[0]))
	return c
}

func (c *Client) named(name string) *member {
	for _, m := range c.members {
		if m.name == name {
			return m
		}
	}
	return nil
}

func TestNext(t *testing.T) {
	begin := time.Unix(1000, 0)
	for name, tt := range map[string]struct {
		active, preferred string
		down              string
		dead, failed      string        // nothing succeeds; something has failed a second before now
		shifted, restored time.Duration // how long ago the last shift was (0: never), and the preferred member came up (0: always up)
		failback          time.Duration
		to                string
		reason            Reason
	}{
		"all is well":                     {active: "a", preferred: "a"},
		"the active one is down":          {active: "a", preferred: "a", down: "a", to: "b", reason: Failed},
		"the next one is down as well":    {active: "a", preferred: "a", down: "ab", to: "c", reason: Failed},
		"all are down":                    {active: "a", preferred: "a", down: "abc", reason: Failed},
		"another one is down":             {active: "a", preferred: "a", down: "b"},
		"the preferred one comes first":   {active: "a", preferred: "c", down: "a", to: "c", reason: Failed},
		"soon after a shift":              {active: "a", preferred: "a", down: "a", shifted: 9 * time.Second},
		"soon after, but it is dead":      {active: "a", preferred: "a", down: "a", dead: "a", shifted: time.Second, to: "b", reason: Failed},
		"the next one has failed as well": {active: "a", preferred: "a", down: "a", dead: "a", failed: "b", shifted: time.Second, to: "c", reason: Failed},
		"all of them have":                {active: "a", preferred: "a", down: "a", dead: "a", failed: "bc", shifted: time.Second, reason: Failed},
		"dead, but it was judged late":    {active: "a", preferred: "a", dead: "a", shifted: time.Second},
		"long after a shift":              {active: "a", preferred: "a", down: "a", shifted: 10 * time.Second, to: "b", reason: Failed},
		"the preferred one was restored":  {active: "b", preferred: "a", shifted: time.Hour, restored: 10 * time.Second, to: "a", reason: Restored},
		"just now":                        {active: "b", preferred: "a", shifted: time.Hour, restored: 9 * time.Second},
		"it is down":                      {active: "b", preferred: "a", down: "a", shifted: time.Hour},
		"never by itself":                 {active: "b", preferred: "a", failback: -1, restored: time.Hour},
		"never by itself, unless it must": {active: "b", preferred: "a", failback: -1, down: "bc", to: "a", reason: Failed},
	} {
		c := clientOf(t, Opts{Failback: tt.failback})
		for _, m := range c.members {
			m.since = begin
		}
		now := begin.Add(24 * time.Hour)
		for _, r := range tt.down {
			c.named(string(r)).up = false
		}
		for _, r := range tt.dead {
			c.named(string(r)).health = health{failed: leastFailed, badAt: now, goodAt: now.Add(-c.opts.Patience)}
		}
		for _, r := range tt.failed {
			c.named(string(r)).health = health{badAt: now.Add(-time.Second), goodAt: now}
		}
		c.preferred = c.named(tt.preferred)
		if tt.restored != 0 {
			c.preferred.since = now.Add(-tt.restored)
		}
		if tt.shifted != 0 {
			c.shifted = now.Add(-tt.shifted)
		}
		to, reason := c.next(now, c.named(tt.active))
		require.Equal(t, tt.reason, reason, name)
		if tt.to == "" {
			require.Nil(t, to, name)
		} else {
			require.Equal(t, c.named(tt.to), to, name)
		}
	}
}

// While half of all requests and probes fail everywhere, there is at most one shift per Failback, in ten
// minutes.
func TestNoFlapping(t *testing.T) {
	c := clientOf(t, Opts{Patience: 800 * time.Millisecond, Failback: 10 * time.Second})
	random := rand.New(rand.NewPCG(1, 2))
	shifts := 0
	for tick := range 6000 {
		active := c.active.Load().member
		active.good.Add(20)
		active.bad.Add(20)
		for _, m := range c.members {
			switch {
			case tick%probeTicks > 0:
			case random.IntN(2) == 0:
				m.good.Add(1)
				m.probes.Add(1)
			default:
				m.failed(io.EOF)
				m.probes.Store(0)
			}
		}
		for _, event := range c.look(time.Unix(1000, 0).Add(time.Duration(tick) * 100 * time.Millisecond)) {
			if _, shifted := event.(LogShift); shifted {
				shifts++
			}
		}
	}
	require.Greater(t, shifts, 40)
	require.LessOrEqual(t, shifts, 60)
}

func TestSwitchTo(t *testing.T) {
	c := clientOf(t, Opts{})
	before := c.active.Load()
	require.NoError(t, c.SwitchTo("c"))
	require.Error(t, before.ctx.Err(), "its term is over")
	require.Equal(t, "c", c.active.Load().member.name)
	require.Same(t, c.named("c"), c.preferred)
	same := c.active.Load()
	require.NoError(t, c.SwitchTo("c"))
	require.Same(t, same, c.active.Load(), "nothing has changed")
	c.named("a").up = false
	for _, name := range []string{"a", "x"} {
		err := c.SwitchTo(name)
		require.True(t, redis.AsErrorx(err).IsOfType(ErrMembers), "%v", err)
	}
	states := c.Members()
	require.Len(t, states, 3)
	require.Equal(t, []string{"a", "b", "c"}, []string{states[0].Name, states[1].Name, states[2].Name})
	require.Equal(t, []bool{false, false, true}, []bool{states[0].Active, states[1].Active, states[2].Active})
	require.Equal(t, []bool{false, true, true}, []bool{states[0].Up, states[1].Up, states[2].Up})
	c.stop()
	require.Error(t, c.SwitchTo("b"))
}
