package rediscluster

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster/internal/topology"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/testbed"
)

func TestReauthenticate(t *testing.T) {
	t.Parallel()
	tb := testbed.NewCluster(t, testbed.ClusterOptions{
		Options:  testbed.Options{ACL: []string{"alice on >secret ~* &* +@all", "bob on >secret-bob ~* &* +@all"}},
		Replicas: 1,
	})
	var who atomic.Pointer[redisconn.Credentials] // nil: the provider fails
	who.Store(&redisconn.Credentials{Username: "alice", Password: "secret"})
	opts := Opts{HostOpts: redisconn.Opts{ClientName: "billing", CredentialsProvider: func(context.Context) (redisconn.Credentials, error) {
		if cr := who.Load(); cr != nil {
			return *cr, nil
		}
		return redisconn.Credentials{}, errors.New("secret")
	}}}
	c, rec := connect(t, tb.Addrs(), opts)
	users := func() map[string]int {
		users := map[string]int{}
		for l := range c.refresher.links() {
			name, err := redis.As[string](redis.Sync{S: l.Conn}.Do("ACL WHOAMI"))
			require.NoError(t, err)
			users[name]++
			require.Equal(t, "billing", l.Conn.ClientName())
		}
		return users
	}
	all := len(c.refresher.links())
	require.Equal(t, 8, all, "2 connections to each of 4 nodes")
	require.Equal(t, map[string]int{"alice": all}, users())

	who.Store(&redisconn.Credentials{Username: "bob", Password: "secret-bob"})
	require.NoError(t, c.Reauthenticate(context.Background()))
	require.Equal(t, map[string]int{"bob": all}, users())

	who.Store(nil)
	err := c.Reauthenticate(context.Background())
	isType(t, redisconn.ErrCredentials, err)
	require.NotContains(t, err.Error(), "secret")
	failed := 0
	rec.seen(func(event LogEvent) bool {
		if e, ok := event.(LogHostEvent); ok {
			switch e.Event.(type) {
			case redisconn.LogAuthFailed:
				failed++
			case redisconn.LogDisconnected:
				t.Error("a connection was lost")
			}
		}
		return false
	})
	require.Equal(t, all, failed)
	require.Equal(t, map[string]int{"bob": all}, users(), "the connections stay")

	who.Store(&redisconn.Credentials{Username: "alice", Password: "secret"})
	replicas, err := tb.Replicas(tb.Node(0))
	require.NoError(t, err)
	require.NoError(t, replicas[0].Kill())
	require.NoError(t, c.Reauthenticate(context.Background()), "who is not connected asks later")
	for _, n := range tb.Nodes() {
		if n.Running() {
			require.NoError(t, n.Kill())
		}
	}
	err = c.Reauthenticate(context.Background())
	require.True(t, redis.AsErrorx(err).IsOfType(redisconn.ErrNotConnected) || redis.AsErrorx(err).IsOfType(redis.ErrIO), "nobody has confirmed: %v", err)

	isType(t, redis.ErrContextIsNil, c.Reauthenticate(nil)) //nolint:staticcheck // on purpose
	c.Close()
	isType(t, redis.ErrContextClosed, c.Reauthenticate(context.Background()))
}

func TestClientNameIsChecked(t *testing.T) {
	_, err := NewCluster(context.Background(), sharedCluster(t).Addrs(), Opts{HostOpts: redisconn.Opts{ClientName: "a b"}, Logger: NoopLogger{}})
	isType(t, redisconn.ErrClientName, err)
}

// A provider that calls Reauthenticate of its cluster would wait for itself, so it gets an error at once.
func TestReauthenticateWithinProvider(t *testing.T) {
	var c atomic.Pointer[Cluster]
	var refused atomic.Int64
	opened, _ := connect(t, sharedCluster(t).Addrs(), Opts{HostOpts: redisconn.Opts{CredentialsProvider: func(context.Context) (cr redisconn.Credentials, _ error) {
		if c := c.Load(); c != nil {
			err := c.Reauthenticate(context.Background())
			if assert.Error(t, err); strings.Contains(err.Error(), "called Reauthenticate") {
				refused.Add(1)
			} // otherwise the provider was called because a socket was dialed
		}
		return cr, nil
	}}})
	c.Store(opened)
	isType(t, redisconn.ErrCredentials, opened.Reauthenticate(t.Context())) // the provider has none
	require.GreaterOrEqual(t, int(refused.Load()), len(opened.refresher.links()))
}

// Reauthenticate returns an error if no server has confirmed the credentials, even if the reason is that
// all connections have ended.
func TestReauthenticateOfNobody(t *testing.T) {
	c, _ := connect(t, sharedCluster(t).Addrs(), Opts{})
	for l := range c.refresher.links() {
		l.Conn.Close()
	}
	require.Error(t, c.Reauthenticate(t.Context()))
	clear(c.refresher.open)
	isType(t, ErrNoAliveConnection, c.Reauthenticate(t.Context()))
}

// Connections of nodes that the topology does not have yet get new credentials as well.
func TestReauthenticateOfNodeThatComes(t *testing.T) {
	node, first, second := newScriptedNode(t, nil), newScriptedNode(t, nil), newScriptedNode(t, nil)
	opts := calm
	opts.ConnsPerHost, opts.Zone = 1, "here"
	var c *Cluster
	links := 0
	opts.ZoneOf = func(addr string) string {
		if addr == second.Addr() { // the connection to the first node exists by now
			links = len(c.refresher.links())
		}
		return ""
	}
	c, _ = connect(t, []string{node.Addr()}, opts)
	require.True(t, c.refresher.publish(t.Context(), &topology.Layout{Shards: []topology.Shard{{Master: first.Addr()}, {Master: second.Addr()}}}))
	require.Equal(t, 2, links)
}
