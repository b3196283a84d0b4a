package rediscluster

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// News end the wait for sentinels that are silent, once there is a topology.
func TestAskAllEndsWithNews(t *testing.T) {
	c := &Cluster{ctx: context.Background()}
	c.topology.Store(newTopology(groupLayout("10.0.0.1:1", nil), func(addr string, _ bool) *node { return &node{c: c, addr: addr} }))
	s := newSentinels(c, nil, "main")
	s.opts.IOTimeout = time.Hour
	s.watched["silent"] = &sentinel{due: make(chan struct{}, 1), next: make(chan struct{})}
	s.signal <- struct{}{}
	s.askAll()
}

// A sentinel of the user's list that is gone for good does not hold the client where it
// had it, once the others are installed anew and agree.
func TestSentinelsInstalledAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &Cluster{ctx: t.Context(), opts: Opts{Logger: NoopLogger{}}}
		s := newSentinels(c, []string{"a", "b", "c"}, "main")
		for _, addr := range s.seeds {
			s.watched[addr] = &sentinel{s: s, addr: addr, ctx: t.Context()}
		}
		say := func(addr, master string, epoch uint64, others ...string) {
			s.hear(s.watched[addr], sentinelReport{master: master, epoch: epoch, others: others, quorum: 2}, nil)
		}
		master := func() string { return s.read(false).shards[0].master }
		say("a", "r", 7, "b", "c")
		say("b", "r", 7, "a", "c")
		say("c", "r", 7, "a", "b")
		for _, addr := range s.seeds {
			s.hear(s.watched[addr], sentinelReport{}, ErrNoSentinel.New("gone"))
		}
		time.Sleep(time.Hour)
		require.Equal(t, "r", master())
		say("b", "m", 0)
		require.Equal(t, "r", master(), "it may be the only one that knows nothing")
		say("c", "m", 0, "b")
		require.Equal(t, "m", master())
		say("b", "m", 0, "c")

		say("a", "r", 7)
		require.Equal(t, "r", master(), "who answers counts")
		s.hear(s.watched["a"], sentinelReport{}, ErrNoSentinel.New("gone"))
		time.Sleep(outlivedAfter - 1)
		say("b", "m", 0, "c")
		require.Equal(t, "r", master())
		time.Sleep(time.Nanosecond)
		say("b", "m", 0, "c")
		require.Equal(t, "m", master())
	})
}
