package rediscache

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/lab/drill"
	"github.com/joomcode/redispipe/internal/slot"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/testbed"
)

func clusterOf(t testing.TB, bed *testbed.Cluster) *rediscluster.Cluster {
	t.Helper()
	c, err := rediscluster.NewCluster(context.Background(), bed.Addrs(), rediscluster.Opts{
		Logger: rediscluster.NoopLogger{}, CheckInterval: 100 * time.Millisecond,
		HostOpts: redisconn.Opts{IOTimeout: patient, Logger: redisconn.NoopLogger{}},
	})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// A cached null is dropped after its slot has moved and another client has written the key there,
// even if all reads are answered from memory and no server reports the change.
func TestNullWhoseSlotMoves(t *testing.T) {
	nullWhoseSlotMoves(t, (*testbed.Cluster).MoveSlot)
}

func TestNullWhoseSlotMovesWhole(t *testing.T) {
	testbed.Needs(t, testbed.AtomicMigration)
	nullWhoseSlotMoves(t, (*testbed.Cluster).MoveSlotWhole)
}

func nullWhoseSlotMoves(t *testing.T, move func(*testbed.Cluster, int, *testbed.Node) error) {
	t.Parallel()
	bed := testbed.NewCluster(t, testbed.ClusterOptions{Masters: 2, Replicas: -1})
	cache := cacheOf(t, clusterOf(t, bed), all)
	awaitLeases(t, cache)
	other := redis.SyncCtx{S: clusterOf(t, bed)}
	for _, before := range []any{nil, "old"} {
		key := fmt.Sprintf("key:%v", before)
		if before != nil {
			must(t, other.Do(t.Context(), "SET", key, before))
		}
		get(t, cache, key)
		require.True(t, kept(t, cache, "GET", key))
		s := int(slot.Of(key))
		from, err := bed.Owner(s)
		require.NoError(t, err)
		to := bed.Node(0)
		if from == to {
			to = bed.Node(1)
		}
		require.NoError(t, move(bed, s, to))
		must(t, other.Do(t.Context(), "SET", key, "new"))
		require.Eventually(t, func() bool {
			value, _ := get(t, cache, key).([]byte)
			return string(value) == "new"
		}, patient, time.Millisecond)
	}
	assert.Positive(t, cache.Stats().Dropped.Lease)
}

// When any request gets MOVED, the cache drops the replies that were read on the old master before the
// request is sent again.
func TestMovedDropsAtOnce(t *testing.T) {
	t.Parallel()
	bed := testbed.NewCluster(t, testbed.ClusterOptions{Masters: 2, Replicas: -1})
	cluster, err := rediscluster.NewCluster(context.Background(), bed.Addrs(), rediscluster.Opts{
		Logger: rediscluster.NoopLogger{}, CheckInterval: time.Hour,
		HostOpts: redisconn.Opts{IOTimeout: patient, Logger: redisconn.NoopLogger{}},
	})
	require.NoError(t, err)
	t.Cleanup(cluster.Close)
	cache := cacheOf(t, cluster, all)
	awaitLeases(t, cache)
	const key, other = "{tag}null", "{tag}other"
	s, atOnce := int(slot.Of(key)), 0
	for range 4 {
		require.Eventually(t, func() bool { // the reply is kept once the client has read the topology
			require.Nil(t, get(t, cache, key))
			return kept(t, cache, "GET", key)
		}, patient, time.Millisecond)
		from, err := bed.Owner(s)
		require.NoError(t, err)
		to := bed.Node(0)
		if from == to {
			to = bed.Node(1)
		}
		moved := cluster.Stats().Moved
		require.NoError(t, bed.MoveSlot(s, to))
		if !kept(t, cache, "GET", key) {
			continue // a late refresh of the topology, after the previous move, has dropped the reply
		}
		must(t, cache.Do(t.Context(), "TTL", other))
		if !kept(t, cache, "GET", key) && cluster.Stats().Moved > moved {
			atOnce++
			continue
		}
		// The client has read the topology in between, and the cache is about to learn of it.
		require.Eventually(t, func() bool { return !kept(t, cache, "GET", key) }, patient, time.Millisecond)
	}
	assert.Positive(t, atOnce)
}

// A master that loses its last slots becomes a replica, and reports no changes for seconds. The cache drops
// the replies that were read there when a request gets MOVED, and at the latest when it next asks the server
// for its role.
func TestMasterLosesItsLastSlots(t *testing.T) {
	testbed.Needs(t, testbed.AtomicMigration)
	t.Parallel()
	bed := testbed.NewCluster(t, testbed.ClusterOptions{
		Options: testbed.Options{Config: []string{"cluster-allow-replica-migration yes"}}, Masters: 3, Replicas: -1,
	})
	other, to := redis.SyncCtx{S: clusterOf(t, bed)}, bed.Node(2)
	for i, timeout := range []time.Duration{time.Hour, 4 * time.Second} {
		from, meetsMoved := bed.Node(i), timeout == time.Hour
		cluster, err := rediscluster.NewCluster(context.Background(), bed.Addrs(), rediscluster.Opts{
			Logger: rediscluster.NoopLogger{}, CheckInterval: time.Hour,
			HostOpts: redisconn.Opts{IOTimeout: timeout, Logger: redisconn.NoopLogger{}},
		})
		require.NoError(t, err)
		t.Cleanup(cluster.Close)
		cache := cacheOf(t, cluster, all)
		awaitLeases(t, cache)

		nodes, _ := from.Do("CLUSTER NODES").([]byte)
		first, last := 0, 0
		for line := range strings.Lines(string(nodes)) {
			if strings.Contains(line, "myself") {
				_, err = fmt.Sscanf(line[strings.LastIndex(line, " "):], " %d-%d", &first, &last)
				require.NoError(t, err)
			}
		}
		tag := 0
		for s := -1; s < first || s > last; s = int(slot.Of(fmt.Sprint(tag))) {
			tag++
		}
		value, null := fmt.Sprintf("{%d}value", tag), fmt.Sprintf("{%d}null", tag)
		must(t, other.Do(t.Context(), "SET", value, "old"))
		require.Eventually(t, func() bool {
			get(t, cache, value)
			get(t, cache, null)
			return kept(t, cache, "GET", value) && kept(t, cache, "GET", null)
		}, patient, time.Millisecond)

		begun := from.Do("CLUSTER MIGRATESLOTS", "SLOTSRANGE", first, last, "NODE", to.ID())
		if redis.AsError(begun) != nil { // the command of Redis, which goes to the new owner
			begun = to.Do("CLUSTER MIGRATION", "IMPORT", first, last)
		}
		require.NoError(t, redis.AsError(begun))
		require.Eventually(t, func() bool {
			role, _ := from.Do("ROLE").([]any)
			return len(role) > 0 && string(role[0].([]byte)) == "slave"
		}, patient, 10*time.Millisecond, "it has become a replica")
		must(t, other.Do(t.Context(), "SET", value, "new"))
		must(t, other.Do(t.Context(), "SET", null, "new"))
		if meetsMoved {
			must(t, cache.Do(t.Context(), "TTL", fmt.Sprintf("{%d}other", tag)))
			require.Positive(t, cluster.Stats().Moved)
			require.False(t, kept(t, cache, "GET", value) || kept(t, cache, "GET", null))
		}
		for _, key := range []string{value, null} {
			require.Eventually(t, func() bool {
				got, _ := get(t, cache, key).([]byte)
				return string(got) == "new"
			}, patient, time.Millisecond)
		}
	}
}

// While slots move with all keys at once and other clients write, reads through the cache never return an
// older version than an earlier read. In the end they return the last version.
func TestOthersWriteOverWholeMoves(t *testing.T) {
	testbed.Needs(t, testbed.AtomicMigration)
	t.Parallel()
	bed := testbed.NewCluster(t, testbed.ClusterOptions{Masters: 2, Replicas: -1})
	cache := cacheOf(t, clusterOf(t, bed), all)
	awaitLeases(t, cache)
	other := redis.SyncCtx{S: clusterOf(t, bed)}
	s := int(slot.Of("{tag}"))
	const keys = 8
	key := func(i int) string { return fmt.Sprint("{tag}", i%keys) }
	var written [keys]atomic.Int64 // the last acknowledged version of each key
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var working sync.WaitGroup
	working.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			if !assert.NoError(t, redis.Err(other.Do(t.Context(), "SET", key(i), i/keys))) {
				return
			}
			written[i%keys].Store(int64(i / keys))
		}
	})
	for k := range keys {
		working.Go(func() {
			for last := int64(0); ctx.Err() == nil; {
				version, ok := versionOf(cache.Do(t.Context(), "GET", key(k)))
				if !assert.True(t, ok) || !assert.GreaterOrEqual(t, version, last) {
					return
				}
				last = version
			}
		})
	}
	for round := range 4 * rounds() {
		assert.NoError(t, bed.MoveSlotWhole(s, bed.Node(round%2)))
	}
	cancel()
	working.Wait()
	st := cache.Stats()
	t.Logf("%+v", st)
	assert.Positive(t, st.Hits)
	for k := range keys {
		require.Eventually(t, func() bool {
			version, _ := versionOf(cache.Do(t.Context(), "GET", key(k)))
			return version == written[k].Load()
		}, patient, time.Millisecond, key(k))
	}
}

// While a slot moves, each key is read on the node that has it.
func TestSlotOnTheWay(t *testing.T) {
	t.Parallel()
	bed := testbed.NewCluster(t, testbed.ClusterOptions{Masters: 2, Replicas: -1})
	cache := cacheOf(t, clusterOf(t, bed), all)
	awaitLeases(t, cache)
	const moved, stays = "{tag}moved", "{tag}stays"
	must(t, cache.Do(t.Context(), "SET", moved, 1))
	must(t, cache.Do(t.Context(), "SET", stays, 1))
	get(t, cache, moved)
	get(t, cache, stays)
	s := int(slot.Of(moved))
	from, err := bed.Owner(s)
	require.NoError(t, err)
	to := bed.Node(0)
	if from == to {
		to = bed.Node(1)
	}
	m, err := bed.BeginMigration(s, to)
	require.NoError(t, err)
	require.NoError(t, m.MoveKeys(moved))
	for i := range 100 {
		must(t, cache.Do(t.Context(), "SET", moved, i))
		must(t, cache.Do(t.Context(), "SET", stays, i))
		require.Equal(t, fmt.Sprint(i), string(get(t, cache, moved).([]byte)))
		require.Equal(t, fmt.Sprint(i), string(get(t, cache, stays).([]byte)))
	}
	require.NoError(t, m.MoveAll())
	require.NoError(t, m.Finish())
	require.Equal(t, "99", string(get(t, cache, moved).([]byte)))
}

// If the cache is full, the first read of a key also goes to a master, whatever the policy is,
// because replicas may lack the latest writes.
func TestFirstOfMasters(t *testing.T) {
	drill.Rotate(t)
	t.Parallel()
	bed := testbed.NewCluster(t, testbed.ClusterOptions{Masters: 2, Replicas: 1})
	cluster := clusterOf(t, bed)
	cache := cacheOf(t, cluster.WithPolicy(rediscluster.PreferSlaves), small)
	awaitLeases(t, cache)
	makeFull(t, cache)
	masters, err := bed.Masters()
	require.NoError(t, err)
	var replicas []redis.SyncCtx
	for _, m := range masters {
		nodes, err := bed.Replicas(m)
		require.NoError(t, err)
		for _, n := range nodes {
			replica := redis.SyncCtx{S: connect(t, n.Addr(), redisconn.Opts{})}
			must(t, replica.Do(t.Context(), "CONFIG RESETSTAT")) // before the first lease, reads may have gone to replicas
			replicas = append(replicas, replica)
		}
	}
	before := cache.Stats().First
	for i := range 50 {
		must(t, cache.Do(t.Context(), "SET", i, i))
		require.Equal(t, fmt.Append(nil, i), must(t, cache.Do(t.Context(), "GET", i)))
		require.Equal(t, []any{int64(1)}, cache.DoMany(t.Context(), []redis.Request{redis.Req("EXISTS", i)}))
		sent := make(chan any, 1)
		cache.Send(redis.Req("STRLEN", i), redis.FuncFuture(func(res any, _ uint64) { sent <- res }), 0)
		require.EqualValues(t, len(fmt.Sprint(i)), <-sent)
	}
	assert.EqualValues(t, before+150, cache.Stats().First)
	for _, replica := range replicas {
		for _, cmd := range []string{"get", "exists", "strlen"} {
			assert.Equal(t, "0", calls(t, replica, cmd), cmd)
		}
	}
}

// SendMany sends one batch to each tracker, and returns the results in order.
func TestSendManyOfCluster(t *testing.T) {
	t.Parallel()
	bed := testbed.NewCluster(t, testbed.ClusterOptions{Masters: 2, Replicas: -1})
	cache := cacheOf(t, clusterOf(t, bed), all)
	awaitLeases(t, cache)
	var sets, gets []redis.Request
	for i := range 100 {
		sets = append(sets, redis.Req("SET", i, i))
		gets = append(gets, redis.Req("GET", i), redis.Req("TTL", i))
	}
	require.NoError(t, redis.FirstError(cache.DoMany(t.Context(), sets)))
	for round := range 3 {
		results := cache.DoMany(t.Context(), gets)
		require.NoError(t, redis.FirstError(results))
		for i := range sets {
			require.Equal(t, fmt.Sprint(i), string(results[2*i].([]byte)), round)
			require.EqualValues(t, -1, results[2*i+1])
		}
	}
	st := cache.Stats()
	assert.EqualValues(t, 100, st.Misses)
	assert.EqualValues(t, 200, st.Hits)
}
