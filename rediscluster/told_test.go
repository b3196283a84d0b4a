package rediscluster

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/testbed"
)

func TestNodeIsOutdated(t *testing.T) {
	for name, tt := range map[string]struct {
		sharded, replica, refused bool
		renewed                   time.Time
		had, has                  string
		want                      bool
	}{
		"the same server":          {had: "1", has: "1"},
		"another server":           {had: "1", has: "2", want: true},
		"unknown before":           {has: "2"},
		"unknown by now":           {had: "1"},
		"refused a write":          {refused: true, want: true},
		"refused, the same server": {refused: true, had: "1", has: "1", want: true},
		"renewed just now":         {refused: true, had: "1", has: "2", renewed: time.Now()},
		"renewed long ago":         {had: "1", has: "2", renewed: time.Now().Add(-2 * time.Hour), want: true},
		"a replica":                {replica: true, refused: true, had: "1", has: "2"},
		"of a cluster":             {sharded: true, refused: true},
	} {
		c := &Cluster{sharded: tt.sharded, opts: Opts{HostOpts: redisconn.Opts{ReconnectPauseMax: time.Hour}}}
		n := &node{c: c, replica: tt.replica, renewed: tt.renewed, links: []*link{{}, {}}}
		if tt.had != "" {
			n.links[1].server.Store(&tt.had)
		}
		n.refused.Store(tt.refused)
		assert.Equal(t, tt.want, n.outdated(tt.has), name)
	}
}

// A master that is restarted is another run of the server, but connections that were made
// since lead to it: they stay.
func TestConnectionsToARestartedMasterStay(t *testing.T) {
	t.Parallel()
	server := testbed.NewServer(t)
	c, err := NewReplicated(context.Background(), []string{server.Addr()}, Opts{Logger: NoopLogger{}, CheckInterval: 100 * time.Millisecond})
	require.NoError(t, err)
	defer c.Close()
	master := c.topology.Load().shards[0].master
	require.NoError(t, server.Restart())
	await(t, "connections", func() bool { return master.links[0].state.Load() == linkUp && master.links[1].state.Load() == linkUp })
	until := c.Stats().Refreshes + 5
	await(t, "refreshes", func() bool { return c.Stats().Refreshes >= until })
	require.Same(t, master, c.topology.Load().shards[0].master)
}
