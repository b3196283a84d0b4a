package rediscluster_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/joomcode/errorx"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/lab/drill"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster"
	"github.com/joomcode/redispipe/rediscluster/redisclusterutil"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/testbed"
)

func newReplicated(t *testing.T, addrs []string, opts rediscluster.Opts) *rediscluster.Cluster {
	t.Helper()
	opts = patient(opts)
	c, err := rediscluster.NewReplicated(context.Background(), addrs, opts)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// replicatedError returns the error of NewReplicated, and requires its type and text.
func replicatedError(t *testing.T, want *errorx.Type, text string, addrs []string, opts rediscluster.Opts) *errorx.Error {
	t.Helper()
	opts = patient(opts)
	return startError(t, want, text, func(ctx context.Context) (*rediscluster.Cluster, error) {
		return rediscluster.NewReplicated(ctx, addrs, opts)
	})
}

func TestReplicatedFindsTheMaster(t *testing.T) {
	t.Parallel()
	g := testbed.NewGroup(t)
	addrs := []string{g.Addrs()[1], g.Addrs()[2], g.Addrs()[0]}
	c := newReplicated(t, addrs, rediscluster.Opts{CheckInterval: 100 * time.Millisecond})
	db := redis.Sync{S: c}
	require.Equal(t, runIDOf(g.Servers()[0]), runID(t, c))
	require.Equal(t, "OK", db.Do("MSET", "a", "1", "b", "2"))
	replicas := redis.Sync{S: c.WithPolicy(rediscluster.PreferSlaves)}
	require.Eventually(t, func() bool {
		return redis.AsError(replicas.Do("MGET", "a", "b")) == nil && !slices.Contains(reads(g), false)
	}, patience, time.Millisecond)

	next := g.Servers()[2]
	require.NoError(t, g.Promote(next))
	require.Eventually(t, func() bool {
		return db.Do("SET", "a", "3") == "OK" && string(asBytes(next.Do("GET", "a"))) == "3"
	}, patience, time.Millisecond)
	require.Equal(t, runIDOf(next), runID(t, c))
}

func asBytes(res any) []byte { b, _ := res.([]byte); return b }

// If there are two masters, the one whose history continues the other's counts.
func TestReplicatedOfTwoMastersTakesTheNewer(t *testing.T) {
	t.Parallel()
	g := testbed.NewGroup(t, testbed.GroupOptions{Replicas: 1})
	old, next := g.Servers()[0], g.Servers()[1]
	c := newReplicated(t, g.Addrs(), rediscluster.Opts{CheckInterval: 100 * time.Millisecond})
	require.NoError(t, redis.AsError(next.Do("REPLICAOF", "NO", "ONE")))
	serves(t, c, next)
	require.Equal(t, "OK", redis.Sync{S: c}.Do("SET", "a", "1"))
	require.Nil(t, old.Do("GET", "a"))
}

func TestReplicatedWithTwoMastersWritesNothing(t *testing.T) {
	t.Parallel()
	one, two := testbed.NewServer(t), testbed.NewServer(t)
	refused := replicatedError(t, rediscluster.ErrManyMasters, "", []string{one.Addr(), two.Addr()}, rediscluster.Opts{})
	require.ErrorContains(t, refused, one.Addr())
	require.ErrorContains(t, refused, two.Addr())

	// Another master that no replica follows changes nothing.
	g := testbed.NewGroup(t, testbed.GroupOptions{Replicas: 1})
	var addrs atomic.Pointer[[]string]
	set := func(list ...string) { addrs.Store(&list) }
	set(g.Addrs()...)
	c := newReplicated(t, nil, rediscluster.Opts{
		HostOpts:          redisconn.Opts{IOTimeout: patience}, // a master that does not answer does not count
		CheckInterval:     100 * time.Millisecond,
		StopOnManyMasters: true,
		Addrs:             func(context.Context) ([]string, error) { return *addrs.Load(), nil },
	})
	set(append(g.Addrs(), one.Addr())...)
	asksAll(t, c)
	require.Equal(t, "OK", redis.Sync{S: c}.Do("SET", "a", "1"))
	require.NoError(t, g.WaitReplicas(g.Servers()[0]))

	// If the other master has as many replicas, nothing is written, and the errors of requests contain the
	// reason.
	host, port := splitAddr(one.Addr())
	require.NoError(t, redis.AsError(two.Do("REPLICAOF", host, port)))
	set(append(g.Addrs(), one.Addr(), two.Addr())...)
	require.Eventually(t, func() bool {
		err := redis.AsErrorx(redis.Sync{S: c}.Do("SET", "a", "2"))
		return err != nil && err.IsOfType(rediscluster.ErrNoAliveConnection) && err.HasTrait(redis.ErrTraitNotSent)
	}, patience, time.Millisecond)
	err := redis.AsError(redis.Sync{S: c}.Do("SET", "a", "2"))
	require.ErrorContains(t, err, one.Addr())
	require.ErrorContains(t, err, g.Addrs()[0])
	require.NotEqual(t, []byte("2"), one.Do("GET", "a"))
	require.Eventually(t, func() bool {
		res := redis.Sync{S: c.WithPolicy(rediscluster.PreferSlaves)}.Do("GET", "a")
		return redis.AsError(res) == nil
	}, patience, time.Millisecond, "replicas go on")

	set(g.Addrs()...)
	require.Eventually(t, func() bool { return redis.Sync{S: c}.Do("SET", "a", "3") == "OK" }, patience, time.Millisecond)
}

func TestReplicatedRefusesBadInput(t *testing.T) {
	t.Parallel()
	g := testbed.NewGroup(t, testbed.GroupOptions{Options: testbed.Options{Password: "secret"}, Replicas: 1})
	opts := rediscluster.Opts{HostOpts: redisconn.Opts{Password: "wrong"}}
	require.False(t, redis.SafeToRetry(replicatedError(t, redisconn.ErrAuth, "WRONGPASS", g.Addrs(), opts)))

	opts.HostOpts.Password = "secret"
	replicatedError(t, rediscluster.ErrNoMaster, g.Addrs()[1]+": it is a replica", g.Addrs()[1:], opts)

	opts.Addrs = func(context.Context) ([]string, error) { return nil, errors.New("no answer") }
	replicatedError(t, rediscluster.ErrNoMaster, "", nil, opts)
}

// If the user's function for the addresses misbehaves, the last addresses stay in use, and roles
// are still followed.
func TestReplicatedOfHostileAddrs(t *testing.T) {
	t.Parallel()
	g := testbed.NewGroup(t, testbed.GroupOptions{Replicas: 1})
	var called atomic.Int64
	var give atomic.Pointer[func() ([]string, error)]
	set := func(f func() ([]string, error)) { give.Store(&f) }
	set(func() ([]string, error) { return append(g.Addrs(), g.Addrs()...), nil })
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c := newReplicated(t, nil, rediscluster.Opts{
		CheckInterval: 100 * time.Millisecond, HostOpts: redisconn.Opts{IOTimeout: 500 * time.Millisecond},
		Addrs: func(context.Context) ([]string, error) { called.Add(1); return (*give.Load())() },
	})
	db := redis.Sync{S: c}
	for i, f := range []func() ([]string, error){
		func() ([]string, error) { panic("of the user's") },
		func() ([]string, error) { runtime.Goexit(); return nil, nil },
		func() ([]string, error) { return nil, nil },
		func() ([]string, error) { return nil, errors.New("unknown") },
		func() ([]string, error) { return []string{"", "host", "127.0.0.1", "[::1"}, nil },
		func() ([]string, error) { <-ctx.Done(); return nil, nil },
	} {
		set(f)
		before := called.Load()
		require.Eventually(t, func() bool { return called.Load() > before }, patience, time.Millisecond)
		next := g.Servers()[(i+1)%2]
		require.NoError(t, g.Promote(next))
		serves(t, c, next)
		require.Eventually(t, func() bool { return db.Do("SET", "a", "2") == "OK" }, patience, time.Millisecond)
	}
}

func TestAddrsAreForNewReplicated(t *testing.T) {
	t.Parallel()
	opts := rediscluster.Opts{Logger: rediscluster.NoopLogger{}, Addrs: func(context.Context) ([]string, error) { panic("called") }}
	_, err := rediscluster.NewCluster(context.Background(), nil, opts)
	require.True(t, redis.AsErrorx(err).IsOfType(redis.ErrNoAddressProvided), "%v", err)
	_, err = rediscluster.NewSentinel(context.Background(), nil, "main", opts)
	require.True(t, redis.AsErrorx(err).IsOfType(redis.ErrNoAddressProvided), "%v", err)

	refused := replicatedError(t, rediscluster.ErrNoMaster, "it panicked", nil, opts)
	require.ErrorContains(t, refused, "Opts.Addrs gave no addresses")
}

// A context with a deadline bounds only the constructors. After that it may expire or be cancelled.
func TestConstructorsAreOutlived(t *testing.T) {
	t.Parallel()
	g := testbed.NewGroup(t, testbed.GroupOptions{Replicas: -1, Sentinels: 1})
	for name, start := range map[string]func(context.Context) (*rediscluster.Cluster, error){
		"replicated": func(ctx context.Context) (*rediscluster.Cluster, error) {
			return rediscluster.NewReplicated(ctx, g.Addrs(), patient(rediscluster.Opts{}))
		},
		"sentinel": func(ctx context.Context) (*rediscluster.Cluster, error) {
			return rediscluster.NewSentinel(ctx, g.SentinelAddrs(), g.MasterName(), patient(rediscluster.Opts{}))
		},
	} {
		ctx, cancel := context.WithTimeout(context.Background(), 3*patience)
		c, err := start(ctx)
		cancel()
		require.NoError(t, err, name)
		require.NoError(t, c.Ctx().Err(), name)
		require.Equal(t, "PONG", redis.Sync{S: c}.Do("PING"), name)
		c.Close()

		ctx, cancel = context.WithCancel(context.Background())
		c, err = start(ctx)
		require.NoError(t, err, name)
		cancel()
		require.ErrorIs(t, redis.Err(redis.Sync{S: c}.Do("PING")), context.Canceled, name)
	}
}

// A frozen master does not count while another one answers, even if the servers do not report the
// histories that show which was promoted later.
func TestReplicatedLeavesAFrozenMaster(t *testing.T) {
	g := testbed.NewGroup(t, testbed.GroupOptions{Replicas: 1})
	old, next := g.Servers()[0], g.Servers()[1]
	for _, s := range g.Servers() {
		require.Equal(t, "OK", s.Do("ACL SETUSER", "app", "on", ">secret", "~*", "+@all", "-info"))
	}
	c, err := rediscluster.NewReplicated(t.Context(), g.Addrs(), rediscluster.Opts{
		Logger: rediscluster.NoopLogger{}, CheckInterval: 100 * time.Millisecond, StopOnManyMasters: true,
		HostOpts: redisconn.Opts{IOTimeout: 500 * time.Millisecond, Username: "app", Password: "secret"},
	})
	require.NoError(t, err)
	defer c.Close()
	require.Equal(t, "OK", redis.Sync{S: c}.Do("SET", "a", "1"))
	require.NoError(t, old.Pause())
	defer func() { _ = old.Resume() }()
	require.Equal(t, "OK", next.Do("REPLICAOF", "NO", "ONE"))
	require.Eventually(t, func() bool { return redis.Sync{S: c}.Do("SET", "a", "2") == "OK" }, patience, 10*time.Millisecond)
}

// If a replica has lost the master, a replica of that replica gets no more writes, although its own link is
// up. Reads avoid both replicas.
func TestReadsLeaveTheReplicaOfALostReplica(t *testing.T) {
	if !drill.InFull {
		t.Skip("it takes 15 s: REDISPIPE_LONG")
	}
	t.Parallel()
	master := testbed.NewServer(t, testbed.Options{ACL: []string{"upper on >secret ~* &* +@all"}})
	follows := func(s *testbed.Server, config ...string) *testbed.Server {
		host, port, _ := strings.Cut(s.Addr(), ":")
		return testbed.NewServer(t, testbed.Options{Config: append(config, "replicaof "+host+" "+port)})
	}
	upper := follows(master, "masteruser upper", "masterauth secret")
	lower := follows(upper)
	require.Equal(t, "OK", master.Do("SET", "a", "1"))
	require.Eventually(t, func() bool { return string(asBytes(lower.Do("GET", "a"))) == "1" }, patience, time.Millisecond)
	c := newReplicated(t, []string{master.Addr(), upper.Addr(), lower.Addr()}, rediscluster.Opts{
		CheckInterval: 100 * time.Millisecond, ReplicaLinkDownTolerance: time.Nanosecond,
	})
	replicas := redis.Sync{S: c.WithPolicy(rediscluster.ForcePreferSlaves)}
	gets := func(s *testbed.Server) string {
		info, _ := s.Do("INFO", "commandstats").([]byte)
		_, after, _ := strings.Cut(string(info), "cmdstat_get:calls=")
		calls, _, _ := strings.Cut(after, ",")
		return calls
	}
	takesReads := func(s *testbed.Server) bool {
		before := gets(s)
		for range 20 {
			require.Equal(t, []byte("1"), replicas.Do("GET", "a"))
		}
		return gets(s) != before
	}
	require.Eventually(t, func() bool { return takesReads(upper) && takesReads(lower) }, patience, time.Millisecond)
	require.Equal(t, int64(1), master.Do("ACL", "DELUSER", "upper"))
	require.Eventually(t, func() bool { return !takesReads(upper) }, patience, time.Millisecond)
	heard := func() (seconds int) { // how long ago lower last heard from upper; -1 if lower has no link
		info, err := redisclusterutil.ParseInfo(lower.Do("INFO", "replication"))
		require.NoError(t, err)
		if seconds, err = strconv.Atoi(info["master_last_io_seconds_ago"]); err != nil || info["master_link_status"] != "up" {
			return -1
		}
		return seconds
	}
	require.Eventually(t, func() bool { return heard() >= 0 && takesReads(lower) }, patience, time.Millisecond, "it is connected again")
	require.Eventually(t, func() bool {
		for range 20 { // on a busy machine, a few reads may leave lower even while it counts as in sync
			if heard() <= 15 || takesReads(lower) {
				return false
			}
		}
		return true
	}, 10*patience, 10*time.Millisecond)
}
