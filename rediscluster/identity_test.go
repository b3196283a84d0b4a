package rediscluster

import (
	"context"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/joomcode/errorx"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/lab/drill"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/testbed"
)

// Detours is a dialer that maps addresses to other addresses, so that a test can give an address to
// another server.
type Detours struct {
	sync.Map // from an address or a host to the address to dial
}

// Dial is a Dialer.
func (d *Detours) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	host, _, _ := net.SplitHostPort(addr)
	for _, from := range []string{addr, host} {
		if to, found := d.Load(from); found {
			addr = to.(string)
		}
	}
	return (&net.Dialer{}).DialContext(ctx, network, addr)
}

// Lead makes an address, or all addresses of a host, lead to the server at to.
func (d *Detours) Lead(addr, to string) { d.Store(addr, to) }

// ran reports whether a server has run any GET or SET.
func ran(s *testbed.Server) bool {
	info, _ := s.Do("INFO", "commandstats").([]byte)
	return strings.Contains(string(info), "cmdstat_get:") || strings.Contains(string(info), "cmdstat_set:")
}

// knowsAgain waits until the cluster has read the topology n times more.
func knowsAgain(t *testing.T, c *Cluster, n uint64) {
	t.Helper()
	until := c.Stats().Refreshes + n
	await(t, "refreshes", func() bool { return c.Stats().Refreshes >= until })
}

// T39: the address of a dead replica is given to the master of another cluster. The client sends
// nothing there, no matter which of the two addresses sorts lower.
func TestTheAddressOfADeadReplicaIsGivenToAnotherCluster(t *testing.T) {
	drill.Rotate(t)
	t.Parallel()
	one := func() *testbed.Cluster { return testbed.NewCluster(t, testbed.ClusterOptions{Masters: 1}) }
	tb, other := one(), testbed.NewCluster(t, testbed.ClusterOptions{Masters: 1, Replicas: -1})
	master, replica := tb.Node(0), tb.Node(1)
	if replica.Addr() > master.Addr() {
		require.NoError(t, tb.Failover(replica, testbed.Graceful))
		replica = master
	}
	var d Detours
	c, _ := connect(t, tb.Addrs(), Opts{CheckInterval: minCheckInterval, HostOpts: redisconn.Opts{Dialer: d.Dial, ReconnectPause: time.Millisecond}})
	db, reads := redis.Sync{S: c}, redis.Sync{S: c.WithPolicy(PreferSlaves)}
	require.Equal(t, "OK", db.Do("SET", "key", "ours"))
	await(t, "a read of the replica", func() bool {
		assert.Equal(t, []byte("ours"), reads.Do("GET", "key"))
		return ran(replica.Server)
	})

	d.Lead(replica.Addr(), other.Node(0).Addr())
	require.NoError(t, replica.Kill())
	for until := c.Stats().Refreshes + 30; c.Stats().Refreshes < until; time.Sleep(time.Millisecond) {
		require.Equal(t, []byte("ours"), reads.Do("GET", "key"))
		require.Equal(t, "OK", db.Do("SET", "key", "ours"))
	}
	assert.False(t, ran(other.Node(0).Server))
}

// uselessSeeds gives addresses to three seeds: a node of a whole cluster, an empty node, and a node that
// has three slots.
func uselessSeeds(t *testing.T, d *Detours) (good *testbed.Cluster) {
	t.Helper()
	lone := func() *testbed.Server {
		s := testbed.NewCluster(t, testbed.ClusterOptions{Masters: 1, Replicas: -1}).Node(0)
		require.Equal(t, "OK", s.Do("CLUSTER FLUSHSLOTS"))
		return s.Server
	}
	good, empty, three := testbed.NewCluster(t, testbed.ClusterOptions{Masters: 1, Replicas: -1}), lone(), lone()
	require.Equal(t, "OK", three.Do("CLUSTER ADDSLOTS", 0, 1, 2))
	for addr, to := range map[string]string{"10.0.0.1": empty.Addr(), "10.0.0.2": three.Addr(), "10.0.0.9": good.Node(0).Addr()} {
		d.Lead(addr, to)
	}
	return good
}

// T39: a client with a good and a useless seed works, in either order, no matter what the useless
// seed's address is.
func TestUselessSeedsSpoilNoGoodOne(t *testing.T) {
	drill.Rotate(t)
	t.Parallel()
	var d Detours
	uselessSeeds(t, &d)
	const empty, three, good = "10.0.0.1:1", "10.0.0.2:1", "10.0.0.9:1"
	for _, seeds := range [][]string{{good, empty}, {empty, good}, {good, three}, {three, good}, {empty, three, good}} {
		c, err := NewCluster(context.Background(), seeds, Opts{
			Logger: NoopLogger{}, CheckInterval: minCheckInterval, HostOpts: redisconn.Opts{Dialer: d.Dial, IOTimeout: patience},
		})
		require.NoError(t, err, "%v", seeds)
		for range 30 {
			assert.Equal(t, "OK", redis.Sync{S: c}.Do("SET", "key", 1), "%v", seeds)
		}
		knowsAgain(t, c, 2)
		assert.Equal(t, "OK", redis.Sync{S: c}.Do("SET", "key", 1), "%v", seeds)
		c.Close()
	}
}

// A client that found only the useless seed switches to the good one as soon as that answers.
func TestAGoodSeedThatComesLater(t *testing.T) {
	drill.Rotate(t)
	t.Parallel()
	var d Detours
	good := uselessSeeds(t, &d)
	require.NoError(t, good.Node(0).Kill())
	c, rec := connect(t, []string{"10.0.0.2:1", "10.0.0.9:1"}, Opts{CheckInterval: minCheckInterval, HostOpts: redisconn.Opts{Dialer: d.Dial}})
	isType(t, redis.ErrClusterDown, redis.Sync{S: c}.Do("SET", "key", 1))
	require.NoError(t, good.Node(0).Restart())
	await(t, "the good one", func() bool { return redis.Sync{S: c}.Do("SET", "key", 1) == "OK" })
	assert.True(t, rec.seen(func(e LogEvent) bool { _, follows := e.(LogFollowsStrangers); return follows }))
}

// If another cluster has taken all addresses, a client switches to it and reports that, unless it must
// refuse strangers: then it waits for its own cluster.
func TestAnotherClusterAtAllAddresses(t *testing.T) {
	drill.Rotate(t)
	t.Parallel()
	one := func() *testbed.Node {
		return testbed.NewCluster(t, testbed.ClusterOptions{Masters: 1, Replicas: -1}).Node(0)
	}
	ours, theirs := one(), one()
	var d Detours
	d.Lead("10.0.0.9", ours.Addr())
	open := func(refuse bool) (redis.Sync, *recorder) {
		c, rec := connect(t, []string{"10.0.0.9:1"}, Opts{
			RefuseStrangers: refuse, CheckInterval: minCheckInterval, HostOpts: redisconn.Opts{Dialer: d.Dial, ReconnectPause: time.Millisecond},
		})
		require.Equal(t, "OK", redis.Sync{S: c}.Do("SET", "key", "ours"))
		return redis.Sync{S: c}, rec
	}
	follows := func(e LogEvent) bool { _, is := e.(LogFollowsStrangers); return is }
	faithful, refused := open(true)
	d.Lead("10.0.0.9", theirs.Addr())
	require.NoError(t, ours.Kill())
	await(t, "the cause", func() bool {
		err := redis.AsErrorx(faithful.Do("SET", "key", "ours"))
		cause := errorx.Cast(err.Cause())
		return err.IsOfType(ErrNoAliveConnection) && cause != nil && cause.IsOfType(redisconn.ErrStranger)
	})
	knowsAgain(t, faithful.S.(*Cluster), 5)
	assert.False(t, ran(theirs.Server))
	d.Lead("10.0.0.9", ours.Addr())
	require.NoError(t, ours.Restart())
	await(t, "the known server", func() bool { return faithful.Do("SET", "key", "ours") == "OK" })
	assert.False(t, refused.seen(follows))

	other, rec := open(false)
	d.Lead("10.0.0.9", theirs.Addr())
	require.NoError(t, ours.Kill())
	await(t, "the other cluster", func() bool { return other.Do("SET", "key", "theirs") == "OK" })
	assert.True(t, rec.seen(follows))
	assert.Equal(t, []byte("theirs"), theirs.Do("GET", "key"))
	assert.Error(t, redis.AsError(faithful.Do("SET", "key", "ours")))
}
