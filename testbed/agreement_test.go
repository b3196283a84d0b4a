package testbed

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// twoNodes returns the real state of a master and its replica, and their reports when they agree.
func twoNodes() ([]truth, []opinion) {
	peers := func(self string) []peer {
		list := []peer{
			{id: "m", addr: "m:1", flags: []string{"master"}, epoch: "1", linked: true, slots: "0-16383"},
			{id: "r", addr: "r:1", flags: []string{"slave"}, epoch: "1", linked: true, master: "m"},
		}
		for i := range list {
			if list[i].id == self {
				list[i].flags = append(list[i].flags, "myself")
			}
		}
		return list
	}
	return []truth{{"m", "m:1", true}, {"r", "r:1", true}}, []opinion{
		{of: "m", state: "ok", peers: peers("m")},
		{of: "r", state: "ok", link: "up", peers: peers("r")},
	}
}

func TestDisagreement(t *testing.T) {
	for name, c := range map[string]struct {
		change func([]truth, []opinion) ([]truth, []opinion)
		want   string
	}{
		"none": {func(ts []truth, os []opinion) ([]truth, []opinion) { return ts, os }, ""},
		"nobody": {func(ts []truth, _ []opinion) ([]truth, []opinion) { return ts, nil },
			"no node is up"},
		"state": {func(ts []truth, os []opinion) ([]truth, []opinion) { os[1].state = "fail"; return ts, os },
			"cluster_state"},
		"replica behind": {func(ts []truth, os []opinion) ([]truth, []opinion) { os[1].link = "down"; return ts, os },
			"link to its master"},
		"one not met": {func(ts []truth, os []opinion) ([]truth, []opinion) { os[0].peers = os[0].peers[:1]; return ts, os },
			"knows 1 nodes of 2"},
		"a stranger": {func(ts []truth, os []opinion) ([]truth, []opinion) { os[0].peers[1].id = "x"; return ts, os },
			"does not know r"},
		"held for dead": {func(ts []truth, os []opinion) ([]truth, []opinion) {
			os[0].peers[1].flags = []string{"slave", "fail?"}
			return ts, os
		},
			"takes r for slave,fail?"},
		"held for alive": {func(ts []truth, os []opinion) ([]truth, []opinion) { ts[1].live = false; return ts, os[:1] },
			"takes r, which is down"},
		"known to be dead": {func(ts []truth, os []opinion) ([]truth, []opinion) {
			ts[1].live, os[0].peers[1].flags = false, []string{"slave", "fail"}
			return ts, os[:1]
		}, ""},
		"old address": {func(ts []truth, os []opinion) ([]truth, []opinion) { ts[1].addr = "r:2"; return ts, os },
			"has r at r:1 instead of r:2"},
		"not connected": {func(ts []truth, os []opinion) ([]truth, []opinion) { os[0].peers[1].linked = false; return ts, os },
			"is not connected to r"},
		"slots of nobody": {func(ts []truth, os []opinion) ([]truth, []opinion) { os[0].peers[0].slots = "0-9"; return ts, os },
			"10 of 16384 slots"},
		"slots of a dead master": {func(ts []truth, os []opinion) ([]truth, []opinion) {
			ts[0].live, os[1].peers[0].flags = false, []string{"master", "fail"}
			return ts, os[1:]
		}, "0 of 16384 slots"},
		"two owners of an epoch": {func(ts []truth, os []opinion) ([]truth, []opinion) {
			for _, o := range os {
				o.peers[0].slots = "0-9"
				o.peers[1].master, o.peers[1].slots = "", "10-16383"
			}
			return ts, os
		}, "gives m and r the epoch 1"},
		"other epoch": {func(ts []truth, os []opinion) ([]truth, []opinion) { os[1].peers[0].epoch = "2"; return ts, os },
			"differ"},
		"other role": {func(ts []truth, os []opinion) ([]truth, []opinion) { os[1].peers[1].master = ""; return ts, os },
			"differ"},
	} {
		t.Run(name, func(t *testing.T) {
			err := disagreement(c.change(twoNodes()))
			if c.want == "" {
				assert.NoError(t, err)
			} else {
				assert.ErrorContains(t, err, c.want)
			}
		})
	}
}

func TestWaitAgreedSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	c := NewCluster(t, ClusterOptions{Replicas: -1})
	require.NoError(t, c.WaitAgreedFor(time.Minute))
	for _, n := range c.Nodes() { // so that no node counts as failed during the test
		require.NoError(t, n.call("CONFIG SET", "cluster-node-timeout", time.Minute.Milliseconds()))
	}
	require.NoError(t, c.Node(1).Pause())
	err := c.WaitAgreedFor(50 * time.Millisecond)
	assert.ErrorContains(t, err, "no agreement of the cluster in 50ms")
	assert.ErrorContains(t, err, c.Node(1).ID()[:8])
	require.NoError(t, c.Node(1).Resume())
	require.NoError(t, c.WaitAgreed())
}
