package rediscluster_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest/chaos"
	"github.com/joomcode/redispipe/testbed"
)

// newEndpoints makes a client of the endpoints primary.test and reader.test. servers maps their IPs to
// servers.
func newEndpoints(t *testing.T, servers map[string]*testbed.Server, opts rediscluster.Opts) *rediscluster.Cluster {
	t.Helper()
	opts.HostOpts.Dialer = dialer(servers)
	return newReplicated(t, []string{"primary.test:6379", "reader.test:6379"}, opts)
}

// dialer returns a Dialer that looks up names itself, and dials the server that servers has for the IP.
func dialer(servers map[string]*testbed.Server) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		host, _, _ := net.SplitHostPort(addr)
		ips, err := net.DefaultResolver.LookupHost(ctx, host)
		if err != nil {
			return nil, err
		}
		return (&net.Dialer{}).DialContext(ctx, network, servers[ips[0]].Addr())
	}
}

// The names of a managed pair lead to other servers after a failover. The client leaves the old
// master although it still runs, because no name leads to it any more.
func TestReplicatedFollowsNames(t *testing.T) {
	g := testbed.NewGroup(t, testbed.GroupOptions{Replicas: 1})
	old, next := g.Servers()[0], g.Servers()[1]
	fresh := testbed.NewServer(t)
	servers := map[string]*testbed.Server{"10.0.0.1": old, "10.0.0.2": next, "10.0.0.3": fresh}
	rediscluster.KnownNames(t, rediscluster.NameTable{"primary.test": {"10.0.0.1"}, "reader.test": {"10.0.0.2"}})
	c := newEndpoints(t, servers, rediscluster.Opts{CheckInterval: 100 * time.Millisecond})
	require.Equal(t, runIDOf(old), runID(t, c))

	require.NoError(t, redis.AsError(next.Do("REPLICAOF", "NO", "ONE")))
	host, port := splitAddr(next.Addr())
	require.NoError(t, redis.AsError(fresh.Do("REPLICAOF", host, port)))
	rediscluster.KnownNames(t, rediscluster.NameTable{"primary.test": {"10.0.0.2"}, "reader.test": {"10.0.0.3"}})
	serves(t, c, next)
	require.Equal(t, "OK", redis.Sync{S: c}.Do("SET", "a", "1"))
	require.Nil(t, old.Do("GET", "a"))
	require.Eventually(t, func() bool {
		info, _ := old.Do("INFO", "clients").([]byte)
		return infoLine(string(info), "connected_clients") == "1" // the test's own connection
	}, patience, time.Millisecond)
	// New connections to the reader endpoint lead to the server that its name now stands for.
	require.NoError(t, redis.AsError(next.Do("CLIENT KILL", "TYPE", "normal", "SKIPME", "yes")))
	replicas := redis.Sync{S: c.WithPolicy(rediscluster.PreferSlaves)}
	require.Eventually(t, func() bool {
		return string(asBytes(replicas.Do("GET", "a"))) == "1" && calls(fresh) > 0
	}, patience, time.Millisecond)

	// If names no longer resolve, their last addresses stay in use.
	rediscluster.KnownNames(t, rediscluster.NameTable{})
	for range 3 {
		c.ForceReloading()
		require.Equal(t, runIDOf(next), runID(t, c))
	}
}

// Both endpoints may lead to the master. It counts as one server, even if one of the addresses is that of
// a proxy.
func TestReplicatedOfOneServerByTwoAddresses(t *testing.T) {
	server := testbed.NewServer(t)
	servers := map[string]*testbed.Server{"10.0.0.1": server, "10.0.0.2": server}
	rediscluster.KnownNames(t, rediscluster.NameTable{"primary.test": {"10.0.0.1"}, "reader.test": {"10.0.0.2", "10.0.0.1"}})
	c := newEndpoints(t, servers, rediscluster.Opts{})
	require.Equal(t, "OK", redis.Sync{S: c}.Do("MSET", "a", "1", "b", "2"))

	proxy := chaos.NewProxy(t, server.Addr(), chaos.ProxyOpts{})
	c = newReplicated(t, []string{proxy.Addr(), server.Addr()}, rediscluster.Opts{})
	require.Equal(t, "OK", redis.Sync{S: c}.Do("MSET", "a", "1", "b", "2"))
}

// After a failover, an endpoint may lead to another server while the open connections stay with the old
// master. The client replaces these connections, even if the old master accepts writes. If it refuses
// writes, the client needs no other information.
func TestReplicatedLeavesConnectionsToTheOldMaster(t *testing.T) {
	t.Parallel()
	for name, demoted := range map[string]bool{"as a replica": true, "as a master": false, "without INFO": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := testbed.NewGroup(t, testbed.GroupOptions{
				Replicas: 1, Options: testbed.Options{ACL: []string{"default on nopass ~* &* +@all", "app on >secret ~* +@all -info"}},
			})
			old, next := g.Servers()[0], g.Servers()[1]
			primary := chaos.NewProxy(t, old.Addr(), chaos.ProxyOpts{})
			opts := rediscluster.Opts{CheckInterval: 10 * time.Minute}
			if !demoted {
				opts.CheckInterval = 100 * time.Millisecond // no request fails, so polling must find the new master
			}
			if name == "without INFO" {
				opts.HostOpts.Username, opts.HostOpts.Password = "app", "secret"
			}
			c := newReplicated(t, []string{primary.Addr()}, opts)
			db := redis.Sync{S: c}
			require.Equal(t, "OK", db.Do("SET", "a", "0"))
			require.NoError(t, g.WaitReplicas(old))

			require.NoError(t, redis.AsError(next.Do("REPLICAOF", "NO", "ONE")))
			primary.SetTarget(next.Addr())
			if demoted {
				host, port := splitAddr(next.Addr())
				require.NoError(t, redis.AsError(old.Do("REPLICAOF", host, port)))
			}
			require.Eventually(t, func() bool {
				return db.Do("SET", "a", "1") == "OK" && string(asBytes(next.Do("GET", "a"))) == "1"
			}, patience, time.Millisecond)
			require.Equal(t, "OK", db.Do("SET", "a", "2"))
			require.Equal(t, []byte("2"), next.Do("GET", "a"))
		})
	}
}

// The client notices a change of roles by failures alone: by READONLY, and by a failed handshake.
func TestReplicatedNoticesRolesByFailures(t *testing.T) {
	g := testbed.NewGroup(t, testbed.GroupOptions{Options: testbed.Options{Persist: true}, Replicas: 1})
	one, two := g.Servers()[0], g.Servers()[1]
	c := newReplicated(t, g.Addrs(), rediscluster.Opts{
		CheckInterval: 10 * time.Minute, HostOpts: redisconn.Opts{ReconnectPause: 10 * time.Millisecond},
	})
	db := redis.Sync{S: c}
	require.Equal(t, "OK", db.Do("SET", "a", "0"))
	require.NoError(t, g.Promote(two)) // the old master keeps its clients, and answers READONLY
	require.Eventually(t, func() bool { return db.Do("SET", "a", "1") == "OK" }, patience, time.Millisecond)
	require.Equal(t, []byte("1"), two.Do("GET", "a"))

	require.NoError(t, two.Kill())
	require.NoError(t, redis.AsError(one.Do("REPLICAOF", "NO", "ONE")))
	host, port := splitAddr(one.Addr())
	require.NoError(t, two.Restart())
	require.NoError(t, redis.AsError(two.Do("REPLICAOF", host, port)))
	serves(t, c, one)
	require.Equal(t, "OK", db.Do("SET", "a", "2"))
	require.Equal(t, []byte("2"), one.Do("GET", "a"))
}

// IPv6 addresses work, both those that the user gives and those that sentinels report.
func TestGroupsOfIPv6Addresses(t *testing.T) {
	server := testbed.NewServer(t)
	servers := map[string]*testbed.Server{"::1": server, "10.0.0.1": server}
	rediscluster.KnownNames(t, rediscluster.NameTable{"primary.test": {"10.0.0.1"}})
	opts := rediscluster.Opts{Logger: rediscluster.NoopLogger{}, HostOpts: redisconn.Opts{Dialer: dialer(servers)}}
	c := newReplicated(t, []string{"[::1]:6379", "primary.test:6379", "[::1]:6379"}, opts)
	require.Equal(t, "OK", redis.Sync{S: c}.Do("SET", "a", "1"))

	sentinel := newScriptedSentinel(t, "[::1]:6379", 1)
	c = newScripted(t, sentinel, opts)
	require.Equal(t, []byte("1"), redis.Sync{S: c}.Do("GET", "a"))
}
