package rediscluster_test

import (
	"context"
	"errors"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/joomcode/errorx"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/lab/drill"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest/chaos"
	"github.com/joomcode/redispipe/testbed"
)

// newSentinel makes a client of a group. It closes the client at the end of the test.
func newSentinel(t *testing.T, g *testbed.Group, opts rediscluster.Opts) *rediscluster.Cluster {
	t.Helper()
	c, err := rediscluster.NewSentinel(overTilt(t), g.SentinelAddrs()[:1], g.MasterName(), patient(opts))
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// runID returns the run_id of the server to which requests without keys go.
func runID(t *testing.T, s redis.Sender) string {
	t.Helper()
	info, ok := redis.Sync{S: s}.Do("INFO", "server").([]byte)
	require.True(t, ok)
	return infoLine(string(info), "run_id")
}

// noElection is how long sentinels wait before they consider a server down: long enough that they don't
// fail over from a healthy server while the machine stands still.
const noElection = 15 * time.Second

func TestSentinelServesAsOneServer(t *testing.T) {
	t.Parallel()
	g := testbed.NewGroup(t, testbed.GroupOptions{Sentinels: 3, DownAfter: noElection})
	c := newSentinel(t, g, rediscluster.Opts{HostOpts: redisconn.Opts{DB: 3}})
	db := redis.Sync{S: c}

	require.Equal(t, "OK", db.Do("MSET", "a", "1", "b", "2", "c", "3"), "keys of several slots")
	require.Equal(t, []any{[]byte("1"), []byte("2"), []byte("3")}, db.Do("MGET", "a", "b", "c"))
	require.Equal(t, int64(3), db.Do("DBSIZE"))
	results, err := db.SendTransaction([]redis.Request{redis.Req("INCR", "a"), redis.Req("INCR", "b"), redis.Req("DBSIZE")})
	require.NoError(t, err)
	require.Equal(t, []any{int64(2), int64(3), int64(3)}, results)
	for i, res := range db.SendMany([]redis.Request{redis.Req("GET", "a"), redis.Req("EXISTS", "b", "c"), redis.Req("DBSIZE")}) {
		require.Equal(t, []any{[]byte("2"), int64(2), int64(3)}[i], res)
	}
	var keys []string
	for s := db.Scanner(redis.ScanOpts{}); ; {
		some, err := s.Next()
		if err == redis.ScanEOF {
			break
		}
		require.NoError(t, err)
		keys = append(keys, some...)
	}
	require.ElementsMatch(t, []string{"a", "b", "c"}, keys)
	require.NoError(t, redis.AsError(db.Do("SCAN", 0)))
	require.Equal(t, "OK", db.Do("FLUSHALL"))

	// Reads go to the replicas as well.
	replicas := redis.Sync{S: c.WithPolicy(rediscluster.PreferSlaves)}
	require.Eventually(t, func() bool {
		return redis.AsError(replicas.Do("MGET", "a", "b")) == nil && !slices.Contains(reads(g), false)
	}, patience, time.Millisecond)
}

// reads reports for each of the servers whether it has answered MGET.
func reads(g *testbed.Group) (answered []bool) {
	for _, s := range g.Servers() {
		info, _ := s.Do("INFO", "commandstats").([]byte)
		answered = append(answered, infoLine(string(info), "cmdstat_mget") != "")
	}
	return answered
}

// In a failover, no write goes to the old master, which still runs as a master, after any sentinel
// knows the new one. Writes soon go to the new one.
func TestSentinelFailover(t *testing.T) {
	t.Parallel()
	g := testbed.NewGroup(t, testbed.GroupOptions{Sentinels: 3, DownAfter: noElection})
	old := g.Servers()[0]
	c := newSentinel(t, g, rediscluster.Opts{})
	promoted, err := g.Failover(testbed.Force)
	require.NoError(t, err)
	require.NotSame(t, old, promoted)
	serves(t, c, promoted)
	require.Equal(t, "OK", redis.Sync{S: c}.Do("SET", "a", "1"))
	require.Equal(t, []byte("1"), promoted.Do("GET", "a"))
}

func runIDOf(s *testbed.Server) string {
	info, _ := s.Do("INFO", "server").([]byte)
	return infoLine(string(info), "run_id")
}

func TestSentinelCredentialsAreSeparate(t *testing.T) {
	t.Parallel()
	g := testbed.NewGroup(t, testbed.GroupOptions{
		Options:         testbed.Options{Password: "of the data"},
		SentinelOptions: testbed.Options{Password: "sentinel"},
		Replicas:        -1, Sentinels: 1,
	})
	opts := rediscluster.Opts{
		HostOpts:     redisconn.Opts{Password: "of the data"},
		SentinelOpts: redisconn.Opts{Password: "sentinel"},
	}
	c := newSentinel(t, g, opts)
	require.Equal(t, "OK", redis.Sync{S: c}.Do("SET", "a", "1"))

	for _, wrong := range []string{"", "of the data"} {
		opts.SentinelOpts.Password = wrong
		err := sentinelError(t, redisconn.ErrAuth, g.SentinelAddrs(), g.MasterName(), opts)
		require.Contains(t, err.Error(), g.SentinelAddrs()[0])
		require.NotContains(t, err.Error(), "of the data")
	}
	opts.SentinelOpts.Password, opts.HostOpts.Password = "sentinel", "wrong"
	err := sentinelError(t, redisconn.ErrAuth, g.SentinelAddrs(), g.MasterName(), opts)
	require.Contains(t, err.Error(), g.Addrs()[0])
	require.False(t, redis.SafeToRetry(err))
}

// sentinelError returns the error of NewSentinel, and requires its type.
func sentinelError(t *testing.T, want *errorx.Type, addrs []string, name string, opts rediscluster.Opts) *errorx.Error {
	t.Helper()
	opts = patient(opts)
	return startError(t, want, "", func(ctx context.Context) (*rediscluster.Cluster, error) {
		return rediscluster.NewSentinel(ctx, addrs, name, opts)
	})
}

func TestSentinelRefusesBadInput(t *testing.T) {
	t.Parallel()
	g := testbed.NewGroup(t, testbed.GroupOptions{Replicas: -1, Sentinels: 1})
	plain := testbed.NewServer(t)
	closed := testbed.NewServer(t)
	require.NoError(t, closed.Kill())
	for name, tt := range map[string]struct {
		addr, master string
		want         *errorx.Type
	}{
		"no sentinel reachable": {closed.Addr(), "mymaster", rediscluster.ErrNoSentinel},
		"unknown master":        {g.SentinelAddrs()[0], "other", rediscluster.ErrMasterUnknown},
		"plain Redis":           {plain.Addr(), "mymaster", rediscluster.ErrNotSentinel},
		"no name":               {g.SentinelAddrs()[0], "", rediscluster.ErrMasterUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			err := sentinelError(t, tt.want, []string{tt.addr}, tt.master, rediscluster.Opts{})
			if tt.master != "" {
				assert.Contains(t, err.Error(), tt.addr)
				assert.Contains(t, err.Error(), tt.master)
			}
		})
	}
}

// NewSentinel waits for a master that the sentinels learn of later.
func TestSentinelWaitsForTheMaster(t *testing.T) {
	t.Parallel()
	g := testbed.NewGroup(t, testbed.GroupOptions{Replicas: -1, Sentinels: 1})
	sentinel, master := g.Sentinels()[0], g.Servers()[0]
	made := make(chan error, 1)
	go func() {
		host, port := splitAddr(master.Addr())
		for asked := false; !asked; { // until the client has asked for the master, and got none
			info, _ := sentinel.Do("INFO", "clients").([]byte)
			asked = infoLine(string(info), "connected_clients") > "1"
		}
		made <- redis.AsError(sentinel.Do("SENTINEL MONITOR", "late", host, port, 1))
	}()
	c, err := rediscluster.NewSentinel(overTilt(t), g.SentinelAddrs(), "late", rediscluster.Opts{
		Logger:   rediscluster.NoopLogger{},
		HostOpts: redisconn.Opts{IOTimeout: time.Minute, DialTimeout: time.Minute},
	})
	require.NoError(t, err)
	defer c.Close()
	require.NoError(t, <-made)
	require.Equal(t, "PONG", redis.Sync{S: c}.Do("PING"))
}

// While all sentinels are down, requests still reach the master. When a sentinel comes back, the client
// hears it.
func TestSentinelsMayAllBeDown(t *testing.T) {
	t.Parallel()
	g := testbed.NewGroup(t, testbed.GroupOptions{Options: testbed.Options{Persist: true}, Replicas: 1, Sentinels: 2, DownAfter: noElection})
	c := newSentinel(t, g, rediscluster.Opts{})
	for _, s := range g.Sentinels() {
		require.NoError(t, s.Kill())
	}
	c.ForceReloading()
	require.NoError(t, redis.AsError(redis.Sync{S: c}.Do("SET", "a", "1")))
	for _, s := range g.Sentinels() {
		require.NoError(t, s.Restart())
	}
	require.NoError(t, g.WaitSentinels(g.Servers()[0]))
	promoted, err := g.Failover(testbed.Graceful)
	require.NoError(t, err)
	serves(t, c, promoted)
}

// Servers and sentinels have separate TLS options.
func TestSentinelTLS(t *testing.T) {
	t.Parallel()
	testbed.Needs(t, testbed.TLS)
	g := testbed.NewGroup(t, testbed.GroupOptions{Options: testbed.Options{TLS: true}, Replicas: 1, Sentinels: 1})
	config, err := g.Servers()[0].ClientTLS()
	require.NoError(t, err)
	opts := rediscluster.Opts{
		HostOpts:     redisconn.Opts{TLSEnabled: true, TLSConfig: config},
		SentinelOpts: redisconn.Opts{TLSEnabled: true, TLSConfig: config},
	}
	c := newSentinel(t, g, opts)
	require.Equal(t, "OK", redis.Sync{S: c}.Do("MSET", "a", "1", "b", "2"))

	untrusted := opts
	untrusted.SentinelOpts.TLSConfig = nil
	sentinelError(t, redisconn.ErrTLS, g.SentinelAddrs(), g.MasterName(), untrusted)
	untrusted = opts
	untrusted.HostOpts.TLSConfig = nil
	sentinelError(t, redisconn.ErrTLS, g.SentinelAddrs(), g.MasterName(), untrusted)
}

// NewSentinel fails if the named master reports that it is a replica, or if sentinels name different
// masters.
func TestSentinelWithoutAMaster(t *testing.T) {
	t.Parallel()
	g := testbed.NewGroup(t, testbed.GroupOptions{Replicas: 1, Sentinels: 1})
	sentinel, replica := g.Sentinels()[0], g.Servers()[1]
	host, port := splitAddr(replica.Addr())
	require.NoError(t, redis.AsError(sentinel.Do("SENTINEL MONITOR", "replica", host, port, 1)))
	require.NoError(t, redis.AsError(sentinel.Do("SENTINEL SET", "replica", "down-after-milliseconds", 100000)))
	err := sentinelError(t, redisconn.ErrRole, g.SentinelAddrs(), "replica", rediscluster.Opts{})
	require.Contains(t, err.Error(), `the master "replica"`)
	require.Contains(t, err.Error(), replica.Addr())

	other := testbed.NewGroup(t, testbed.GroupOptions{Replicas: -1, Sentinels: 1})
	err = sentinelError(t, rediscluster.ErrSentinelsDisagree, append(g.SentinelAddrs(), other.SentinelAddrs()...), g.MasterName(), rediscluster.Opts{})
	require.Contains(t, err.Error(), g.Addrs()[0])
	require.Contains(t, err.Error(), other.Addrs()[0])
}

// The same sentinels may watch several masters. These have hostnames.
func TestSentinelsOfSeveralMastersTellHostnames(t *testing.T) {
	drill.Rotate(t)
	t.Parallel()
	opts := testbed.GroupOptions{Hostname: "localhost", Replicas: 1, Sentinels: 3, DownAfter: noElection}
	g := testbed.NewGroup(t, opts)
	opts.MasterName, opts.WatchedBy = "other", g
	other := testbed.NewGroup(t, opts)
	moves := make(moveLog, 100)
	first, second := newSentinel(t, g, rediscluster.Opts{Logger: moves}), newSentinel(t, other, rediscluster.Opts{})
	require.Equal(t, []string{g.Addrs()[0]}, <-moves)
	require.Contains(t, g.Addrs()[0], "localhost:")

	promoted, err := other.Failover(testbed.Graceful)
	require.NoError(t, err)
	serves(t, second, promoted)
	require.Equal(t, "OK", redis.Sync{S: second}.Do("SET", "a", "1"))
	require.Equal(t, []byte("1"), promoted.Do("GET", "a"))
	require.Equal(t, runIDOf(g.Servers()[0]), runID(t, first))
}

// While one sentinel after the other is configured to announce hostnames, they name one master by
// different addresses.
func TestSentinelsNameOneMasterBySeveralAddresses(t *testing.T) {
	t.Parallel()
	g := testbed.NewGroup(t, testbed.GroupOptions{Hostname: "localhost", Sentinels: 3, DownAfter: noElection})
	require.Equal(t, "OK", g.Sentinels()[0].Do("SENTINEL CONFIG", "SET", "announce-hostnames", "no"))
	c, err := rediscluster.NewSentinel(overTilt(t), g.SentinelAddrs(), g.MasterName(), patient(rediscluster.Opts{}))
	require.NoError(t, err)
	t.Cleanup(c.Close)
	serves(t, c, g.Servers()[0])
}

// moveLog is a logger that records the masters of each new topology.
type moveLog chan []string

func (l moveLog) Report(_ *rediscluster.Cluster, event rediscluster.LogEvent) {
	if e, ok := event.(rediscluster.LogTopologyChanged); ok {
		l <- e.Masters
	}
}

func (l moveLog) ReqStat(*rediscluster.Cluster, *redisconn.Connection, redis.Request, any, int64, int64, int64) {
}

// Servers behind proxies announce the addresses of the proxies. After a failover the client connects to the
// announced address.
func TestSentinelsTellAnnouncedAddresses(t *testing.T) {
	t.Parallel()
	g := testbed.NewGroup(t, testbed.GroupOptions{Replicas: 1})
	replica := g.Servers()[1]
	proxy := chaos.NewProxy(t, replica.Addr(), chaos.ProxyOpts{})
	_, port := splitAddr(proxy.Addr())
	require.NoError(t, redis.AsError(replica.Do("CONFIG SET", "replica-announce-port", port)))
	host, masterPort := splitAddr(g.Addrs()[0])
	require.NoError(t, redis.AsError(replica.Do("REPLICAOF", "NO", "ONE")))
	require.NoError(t, redis.AsError(replica.Do("REPLICAOF", host, masterPort))) // the replica announces its new port

	sentinel := testbed.NewGroup(t, testbed.GroupOptions{Replicas: -1, Sentinels: 1}).Sentinels()[0]
	require.NoError(t, redis.AsError(sentinel.Do("SENTINEL MONITOR", "behind", host, masterPort, 1)))
	moves := make(moveLog, 100)
	c, err := rediscluster.NewSentinel(overTilt(t), []string{sentinel.Addr()}, "behind", patient(rediscluster.Opts{Logger: moves}))
	require.NoError(t, err)
	t.Cleanup(c.Close)
	require.Equal(t, runIDOf(g.Servers()[0]), runID(t, c))
	require.Eventually(t, func() bool { // the sentinel must know the replica first
		return redis.AsError(sentinel.Do("SENTINEL FAILOVER", "behind")) == nil
	}, patience, 10*time.Millisecond)
	serves(t, c, replica)
	masters := <-moves
	for masters[0] == g.Addrs()[0] {
		masters = <-moves
	}
	require.Equal(t, []string{proxy.Addr()}, masters)
}

// Like nodes, sentinels are dialed again even if ReconnectPause is negative.
func TestSentinelsAreDialedAgain(t *testing.T) {
	old, next := testbed.NewServer(t), testbed.NewServer(t)
	sentinel := newScriptedSentinel(t, old.Addr(), 1)
	proxy := chaos.NewProxy(t, sentinel.Addr(), chaos.ProxyOpts{})
	c, err := rediscluster.NewSentinel(t.Context(), []string{proxy.Addr()}, "main", rediscluster.Opts{
		Logger: rediscluster.NoopLogger{}, CheckInterval: 100 * time.Millisecond,
		SentinelOpts: redisconn.Opts{ReconnectPause: -1},
	})
	require.NoError(t, err)
	defer c.Close()
	<-proxy.Arm(chaos.Fault{Do: chaos.Reset, On: chaos.Replies, At: chaos.Now()}).First()
	sentinel.name(next.Addr(), 2)
	require.Eventually(t, func() bool { return runID(t, c) == runIDOf(next) }, patience, 10*time.Millisecond)
}

// Behind a proxy or NAT, clients may need a different address of the master than the sentinels use.
func TestSentinelsNameAnAddressOfAnotherNetwork(t *testing.T) {
	t.Parallel()
	master, hidden := testbed.NewServer(t), "192.0.2.1:6379"
	sentinel := newScriptedSentinel(t, hidden, 1)
	ctx, cancel := context.WithCancel(overTilt(t))
	defer cancel()
	opts := patient(rediscluster.Opts{Logger: rediscluster.NoopLogger{}})
	opts.HostOpts.Dialer = func(context.Context, string, string) (net.Conn, error) {
		cancel()
		return nil, errors.New("no route")
	}
	_, err := rediscluster.NewSentinel(ctx, []string{sentinel.Addr()}, "mymaster", opts)
	require.ErrorContains(t, err, "sentinels name 192.0.2.1:6379 as the master")
	require.ErrorContains(t, err, "map the one to the other in HostOpts.Dialer")

	opts.HostOpts.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		if addr == hidden {
			addr = master.Addr()
		}
		return new(net.Dialer).DialContext(ctx, network, addr)
	}
	c, err := rediscluster.NewSentinel(overTilt(t), []string{sentinel.Addr()}, "mymaster", opts)
	require.NoError(t, err)
	defer c.Close()
	require.Equal(t, "PONG", redis.Sync{S: c}.Do("PING"))
}
