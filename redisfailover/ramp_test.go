package redisfailover

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/slot"
	"github.com/joomcode/redispipe/redis"
)

// answers is a sender of another library that answers with its name.
type answers struct {
	redis.Sender
	name string
}

func (a *answers) Send(_ redis.Request, cb redis.Future, n uint64) { cb.Resolve(a.name, n) }
func (a *answers) Close()                                          {}

func (a *answers) SendMany(reqs []redis.Request, cb redis.Future, start uint64) {
	for i := range reqs {
		cb.Resolve(a.name, start+uint64(i))
	}
}

func (a *answers) SendTransaction(_ []redis.Request, cb redis.Future, n uint64) {
	cb.Resolve([]any{a.name}, n)
}

// ramping returns a client whose keys are moving back from b to a. The client does not judge its members by
// itself: the test calls look.
func ramping(t *testing.T, logger Logger) (c *Client, begin time.Time) {
	c, err := Open(t.Context(), []Member{{Name: "a", Weight: 1, Sender: &answers{name: "a"}}, {Name: "b", Sender: &answers{name: "b"}}}, Opts{
		Probe: well, Logger: logger, Patience: 24 * time.Hour, Ramp: time.Minute,
	})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	require.NoError(t, c.SwitchTo("b"))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.preferred = c.named("a")
	begin = c.preferred.since.Add(time.Hour)
	return c, begin
}

// During a ramp the slots move one after the other, and no slot moves back. A request goes to the member that
// has its key, no matter how it is sent.
func TestRamp(t *testing.T) {
	ctx := t.Context()
	c, begin := ramping(t, NoopLogger{})
	require.Equal(t, []LogEvent{LogReturn{From: "b", To: "a"}}, c.look(begin))
	keys := make([]string, 1000)
	moved := map[string]bool{}
	for i := range keys {
		keys[i] = fmt.Sprint("key", i)
	}
	for part := range 6 {
		require.Empty(t, c.look(begin.Add(time.Duration(part)*10*time.Second)))
		require.Empty(t, c.look(begin.Add(time.Duration(part)*10*time.Second)))
		reqs, ats := []redis.Request{}, []any{}
		for _, key := range keys {
			at := c.Do(ctx, "GET", key)
			require.False(t, moved[key] && at == "b", "it has moved back")
			moved[key] = at == "a"
			reqs, ats = append(reqs, redis.Req("SET", key, "x")), append(ats, at)
			got := make(chan any, 1)
			c.Send(redis.Req("GET", key), redis.FuncFuture(func(res any, _ uint64) { got <- res }), 0)
			require.Equal(t, at, <-got)
			results, err := c.Transact(ctx, []redis.Request{redis.Req("PING"), redis.Req("GET", key), redis.Req("SET", key, 1)})
			require.NoError(t, err)
			require.Equal(t, []any{at}, results)
			require.Equal(t, at, c.active.Load().ofKeys([]string{key, key}).member.name)
		}
		require.Equal(t, ats, c.DoMany(ctx, reqs))
		n := 0
		for _, at := range ats {
			if at == "a" {
				n++
			}
		}
		require.InDelta(t, part*len(keys)/6, n, 50)
		states := c.Members()
		require.InDelta(t, float64(part)/6, states[0].Share, 0.001)
		require.InDelta(t, 1, states[0].Share+states[1].Share, 0.001)
		require.Equal(t, []bool{false, true}, []bool{states[0].Active, states[1].Active})
		require.Equal(t, "b", c.Do(ctx, "PING"))
		require.Equal(t, "b", c.Do(ctx, "SPUBLISH", keys[0], "x"))
	}
	before := c.active.Load()
	require.Equal(t, []LogEvent{LogShift{From: "b", To: "a", Reason: Restored}}, c.look(begin.Add(time.Minute)))
	require.True(t, before.over())
	require.Equal(t, "a", c.Do(ctx, "PING"))
	require.Equal(t, "a", c.Do(ctx, "MGET", keys[0], keys[1], keys[2]))
	require.Empty(t, c.look(begin.Add(2*time.Minute)))
	stats := c.Stats()
	require.Equal(t, [3]uint64{0, 1, 1}, [3]uint64{stats.Failed, stats.Restored, stats.Switched})
}

// A request whose keys have not all moved goes to the active member.
func TestRampOfSeveralKeys(t *testing.T) {
	ctx := t.Context()
	c, begin := ramping(t, NoopLogger{})
	c.look(begin)
	c.look(begin.Add(30 * time.Second))
	var at [2]string // a key of each member
	for i := 0; at[0] == "" || at[1] == ""; i++ {
		key := fmt.Sprint("key", i)
		if c.Do(ctx, "GET", key) == "a" {
			at[0] = key
		} else {
			at[1] = key
		}
	}
	require.Equal(t, "b", c.Do(ctx, "MGET", at[0], at[1]))
	results, err := c.Transact(ctx, []redis.Request{redis.Req("GET", at[0]), redis.Req("GET", at[1])})
	require.NoError(t, err)
	require.Equal(t, []any{"b"}, results)
	require.Equal(t, "b", c.active.Load().ofKeys(at[:]).member.name)
	require.Equal(t, "b", c.active.Load().ofKeys(nil).member.name)
	require.Equal(t, []any{"a", "a", "b", "a"}, c.DoMany(ctx, []redis.Request{
		redis.Req("GET", at[0]), redis.Req("GET", at[0]), redis.Req("GET", at[1]), redis.Req("GET", at[0]),
	}))
}

// A ramp ends early in each of these cases.
func TestRampEnds(t *testing.T) {
	const key = "key" // its slot moves last
	for name, tt := range map[string]struct {
		end    func(t *testing.T, c *Client)
		events []LogEvent
		to     string
	}{
		"the preferred member fails": {func(_ *testing.T, c *Client) { c.named("a").up = false }, []LogEvent{LogReturn{From: "b", To: "a", Ended: true}}, "b"},
		"the active member fails":    {func(_ *testing.T, c *Client) { c.named("b").up = false }, []LogEvent{LogShift{From: "b", To: "a", Reason: Restored}}, "a"},
		"both fail": {func(_ *testing.T, c *Client) { c.named("a").up, c.named("b").up = false, false },
			[]LogEvent{LogReturn{From: "b", To: "a", Ended: true}}, "b"},
		"SwitchTo there": {func(t *testing.T, c *Client) { require.NoError(t, c.SwitchTo("a")) }, nil, "a"},
		"SwitchTo here":  {func(t *testing.T, c *Client) { require.NoError(t, c.SwitchTo("b")) }, nil, "b"},
	} {
		t.Run(name, func(t *testing.T) {
			c, begin := ramping(t, NoopLogger{})
			c.look(begin)
			c.look(begin.Add(59 * time.Second))
			to := c.active.Load().back.Load().to
			require.Equal(t, "a", c.Do(t.Context(), "GET", key))
			for _, m := range c.members {
				m.probes.Store(0)
			}
			tt.end(t, c)
			now := begin.Add(time.Minute - time.Second/2)
			require.Equal(t, tt.events, c.look(now))
			require.Equal(t, tt.to, c.Do(t.Context(), "GET", key))
			require.Equal(t, tt.to, c.Do(t.Context(), "PING"))
			require.Equal(t, tt.to != "a", to.over())
			c.named("a").up, c.named("b").up = true, true
			require.Empty(t, c.look(now.Add(9*time.Second)), "not within Failback")
		})
	}
}

// Each slot moves exactly once.
func TestSlotsOfRamp(t *testing.T) {
	c, begin := ramping(t, NoopLogger{})
	c.look(begin)
	b := c.active.Load().back.Load()
	b.moved.Store(slot.Count / 3)
	n := 0
	for s := range slot.Count {
		if c.active.Load().of(s) == b.to {
			n++
		}
	}
	require.Equal(t, slot.Count/3, n)
}

// shifts is a hook that sends the ends of shifts on the channel.
type shifts chan redis.Completion

func (shifts) Before(ctx context.Context, _ redis.Operation) context.Context { return ctx }

func (s shifts) After(_ context.Context, op redis.Operation, end redis.Completion) {
	if op.Kind == redis.OperationShift {
		s <- end
	}
}

// Hooks are called for shifts.
func TestHooksSeeShifts(t *testing.T) {
	seen := make(shifts, 1)
	db, _, _ := mocks(t, Opts{Hooks: []redis.Hook{seen}})
	require.NoError(t, db.SwitchTo("b"))
	end := <-seen
	require.Equal(t, "b", end.Address)
	require.Equal(t, LogShift{From: "a", To: "b", Reason: Switched}, end.Result)
}
