package rediscluster_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/lab/drill"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/testbed"
)

// The address of one of three sentinels is given to a sentinel of another master with the same name. That
// sentinel has a quorum of one and a greater config-epoch. The client stays with its master, and a client
// that is opened afterwards uses the same master.
func TestAStrangerAtTheAddressOfASentinel(t *testing.T) {
	drill.Rotate(t)
	t.Parallel()
	g := testbed.NewGroup(t, testbed.GroupOptions{Replicas: 1, Sentinels: 3, DownAfter: noElection})
	other := testbed.NewGroup(t, testbed.GroupOptions{Replicas: 1, Sentinels: 1})
	theirs, err := other.Failover(testbed.Force)
	require.NoError(t, err)

	var d rediscluster.Detours
	opts := patient(rediscluster.Opts{
		CheckInterval: 100 * time.Millisecond,
		SentinelOpts:  redisconn.Opts{Dialer: d.Dial, ReconnectPause: time.Millisecond},
	})
	open := func(seeds []string) *rediscluster.Cluster {
		c, err := rediscluster.NewSentinel(overTilt(t), seeds, g.MasterName(), opts)
		require.NoError(t, err)
		t.Cleanup(c.Close)
		stays(t, c, g.Servers()[0])
		return c
	}
	all, one := open(g.SentinelAddrs()), open(g.SentinelAddrs()[2:])
	d.Lead(g.SentinelAddrs()[2], other.SentinelAddrs()[0])
	require.NoError(t, g.Sentinels()[2].Kill())
	stays(t, all, g.Servers()[0])
	stays(t, one, g.Servers()[0])
	open(g.SentinelAddrs())
	require.Nil(t, theirs.Do("GET", "a"))
}

// stays requires that all writes of a client go to one server, while the client asks the sentinels twenty
// times.
func stays(t *testing.T, c *rediscluster.Cluster, s *testbed.Server) {
	t.Helper()
	db := redis.Sync{S: c}
	for until := c.Stats().Refreshes + 20; c.Stats().Refreshes < until; time.Sleep(time.Millisecond) {
		require.Equal(t, "OK", db.Do("SET", "a", "1"))
	}
	require.Equal(t, []byte("1"), s.Do("GET", "a"))
	require.Equal(t, runIDOf(s), runID(t, c))
}

// The address of a dead replica is given to another master. The client of a list of servers stays with
// its own master, even while that does not answer, and follows a promoted replica.
func TestAStrangerInAListOfServers(t *testing.T) {
	drill.Rotate(t)
	t.Parallel()
	g := testbed.NewGroup(t, testbed.GroupOptions{Replicas: 2})
	other := testbed.NewServer(t)
	master, dead, next := g.Servers()[0], g.Servers()[1], g.Servers()[2]
	var d rediscluster.Detours
	c := newReplicated(t, g.Addrs(), rediscluster.Opts{
		CheckInterval: 100 * time.Millisecond,
		HostOpts:      redisconn.Opts{Dialer: d.Dial, IOTimeout: time.Second, ReconnectPause: time.Millisecond},
	})
	stays(t, c, master)
	d.Lead(dead.Addr(), other.Addr())
	require.NoError(t, dead.Kill())
	stays(t, c, master)

	require.NoError(t, master.Kill())
	db := redis.Sync{S: c}
	for until := c.Stats().Refreshes + 5; c.Stats().Refreshes < until; time.Sleep(time.Millisecond) {
		require.Error(t, redis.AsError(db.Do("SET", "a", "2")))
	}
	require.Equal(t, "OK", next.Do("REPLICAOF", "NO", "ONE"))
	serves(t, c, next)
	require.Nil(t, other.Do("GET", "a"))
}
