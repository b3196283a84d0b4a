package rediscluster

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/lab/drill"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/testbed"
)

// halfMoved is a moving slot. One of its keys was moved, and is gone from the master and its replica;
// another key was not moved.
type halfMoved struct {
	*testbed.Migration
	bed *testbed.Cluster
	// masters gives weight 0 to the masters, so that reads by policy go to replicas.
	masters hosts
}

const goneKey, staysKey = "{tag}gone", "{tag}stays"

func beginHalfMoved(t *testing.T) halfMoved {
	t.Helper()
	bed := sharedCluster(t)
	slot, master := owner(t, bed, goneKey)
	to := another(t, bed, master)
	c, _ := connect(t, bed.Addrs(), calm)
	require.Equal(t, "OK", redis.Sync{S: c}.Do("SET", goneKey, "value"))
	require.Equal(t, "OK", redis.Sync{S: c}.Do("SET", staysKey, "value"))
	m, err := bed.BeginMigration(slot, to)
	require.NoError(t, err)
	require.NoError(t, m.MoveKeys(goneKey))
	for _, n := range []*testbed.Node{master, to} {
		require.Equal(t, int64(1), n.Do("WAIT", 1, patience.Milliseconds()), "its replica knows")
	}
	return halfMoved{m, bed, hosts{master.Addr(): 0, to.Addr(): 0}}
}

// client returns a client that reads from replicas, reads the topology only on request, and does not know
// that the slot is moving.
func (h halfMoved) client(t *testing.T) *Cluster {
	t.Helper()
	c, _ := connect(t, h.bed.Addrs(), Opts{CheckInterval: time.Hour, WaitToMigrate: time.Millisecond, WeightProvider: h.masters})
	for _, n := range []*testbed.Node{h.From(), h.To()} {
		awaitReplica(t, c, replica(t, h.bed, n))
	}
	stable := func(int) bool { return true }
	c.rules.Moves.Settle(time.Now(), stable)
	if readGone(c) != nil {
		require.NotZero(t, c.Stats().Asked, "the replica says ASK, or nothing")
		c.rules.Moves.Settle(time.Now(), stable)
	}
	return c
}

func readGone(c *Cluster) any { return redis.Sync{S: c.WithPolicy(MasterAndSlaves)}.Do("GET", goneKey) }

// refreshed waits until the topology was read.
func refreshed(c *Cluster) {
	done := make(chan struct{})
	c.refresher.afterRefresh(func() { close(done) })
	<-done
}

// After a request has shown that a slot is moving, all reads of the slot go to its master.
func TestOneLearnsOfAMoveForAll(t *testing.T) {
	h := beginHalfMoved(t)
	for how, learn := range map[string]func(c *Cluster, s redis.SyncCtx) error{
		"a request": func(_ *Cluster, s redis.SyncCtx) error { return redis.Err(s.Do(t.Context(), "SET", goneKey, "value")) },
		"a batch": func(_ *Cluster, s redis.SyncCtx) error {
			return redis.FirstError(s.SendMany(t.Context(), []redis.Request{redis.Req("PING"), redis.Req("SET", goneKey, "value")}))
		},
		"a transaction": func(_ *Cluster, s redis.SyncCtx) error {
			_, err := s.SendTransaction(t.Context(), []redis.Request{redis.Req("SET", goneKey, "value")})
			return err
		},
		"a session": func(c *Cluster, _ redis.SyncCtx) error {
			_, err := redis.Watch(t.Context(), c, []string{goneKey}, func(tx *redis.Tx) error {
				tx.Queue("SET", goneKey, "value")
				return nil
			})
			return err
		},
		"a session with state": func(c *Cluster, _ redis.SyncCtx) error {
			return redis.WithSession(t.Context(), c, goneKey, func(s *redis.Session) error {
				if err := redis.Err(s.Do("GET", staysKey)); err != nil {
					return err
				}
				isType(t, redis.ErrAsk, s.Do("GET", goneKey))
				return nil
			})
		},
		"TRYAGAIN": func(_ *Cluster, s redis.SyncCtx) error {
			isType(t, redis.ErrTryAgain, s.Do(t.Context(), "MGET", goneKey, staysKey))
			return nil
		},
		"the topology": func(c *Cluster, _ redis.SyncCtx) error { refreshed(c); return nil },
	} {
		t.Run(how, func(t *testing.T) {
			c := h.client(t)
			require.NoError(t, learn(c, redis.SyncCtx{S: c}))
			require.Equal(t, []byte("value"), readGone(c))
		})
	}
	require.NoError(t, h.Abort())
}

// A read of the slot finds the key, no matter how it is sent and what its policy is. When the slot
// is stable again, replicas are read again.
func TestReadsOfASlotOnTheMove(t *testing.T) {
	h := beginHalfMoved(t)
	c := h.client(t)
	ctx := t.Context()
	ways := map[string]func(redis.SyncCtx) any{
		"alone": func(s redis.SyncCtx) any { return s.Do(ctx, "GET", goneKey) },
		"in a batch": func(s redis.SyncCtx) any {
			return s.SendMany(ctx, []redis.Request{redis.Req("PING"), redis.Req("GET", goneKey)})[1]
		},
		"split": func(s redis.SyncCtx) any { return SendSplit(ctx, s.S, redis.Req("MGET", goneKey)).([]any)[0] },
		"in a transaction": func(s redis.SyncCtx) any {
			results, err := s.SendTransaction(ctx, []redis.Request{redis.Req("GET", goneKey)})
			require.NoError(t, err)
			return results[0]
		},
		"in a script": func(s redis.SyncCtx) any { return s.Do(ctx, "EVAL", "return redis.call('GET', KEYS[1])", 1, goneKey) },
	}
	found := func(when string) {
		t.Helper()
		for how, read := range ways {
			for _, policy := range []ReplicaPolicyEnum{MasterAndSlaves, PreferSlaves, ForceMasterAndSlaves, ForcePreferSlaves} {
				require.Equal(t, []byte("value"), read(redis.SyncCtx{S: c.WithPolicy(policy)}), "%s, %s, %v", when, how, policy)
			}
		}
	}
	require.NoError(t, redis.Err(redis.Sync{S: c}.Do("SET", goneKey, "value")))
	found("after ASK")
	refreshed(c)
	found("after the topology was read")
	require.NoError(t, h.MoveAll())
	found("when all keys have left")
	require.NoError(t, h.Finish())
	found("when the other has the slot")
	require.NoError(t, h.bed.WaitAgreed())
	require.Equal(t, int64(1), h.To().Do("WAIT", 1, patience.Milliseconds()))
	await(t, "to replicas", func() bool {
		refreshed(c)
		return !c.rules.Moves.Has(h.Slot())
	})
	assert.Equal(t, h.To().Addr(), c.topology.Load().Shard(h.Slot()).Master.Addr)
	found("of replicas")
}

// While a slot moves back and forth key by key, a client finds each existing key once one of its
// requests got ASK (T40).
func TestT40NoNullAfterAsk(t *testing.T) {
	drill.Rotate(t)
	t.Parallel()
	const keys, callers, judged = 50, 4, 500
	bed := testbed.NewCluster(t)
	require.NoError(t, holdRoles(bed))
	c, _ := connect(t, bed.Addrs(), Opts{CheckInterval: 50 * time.Millisecond, WaitToMigrate: time.Millisecond})
	key := func(i int) string { return fmt.Sprint("{tag}", i%keys) }
	for i := range keys {
		require.Equal(t, "OK", redis.Sync{S: c}.Do("SET", key(i), 0))
	}
	slot, _ := owner(t, bed, key(0))
	var asked atomic.Int64
	ctx, cancel := context.WithCancel(t.Context())
	var working sync.WaitGroup
	defer working.Wait()
	defer cancel()
	for n := range callers {
		working.Go(func() {
			reads := redis.SyncCtx{S: c.WithPolicy([]ReplicaPolicyEnum{PreferSlaves, MasterAndSlaves}[n%2])}
			for i := n; ctx.Err() == nil; i++ {
				before := c.Stats().Asked
				if !assert.NoError(t, redis.Err(redis.Sync{S: c}.Do("SET", key(i), i))) {
					return
				}
				if c.Stats().Asked == before {
					continue
				}
				asked.Add(1)
				if !assert.NotNil(t, reads.Do(t.Context(), "GET", key(i)), key(i)) {
					return
				}
			}
		})
	}
	for asked.Load() < judged && !t.Failed() {
		from, err := bed.Owner(slot)
		require.NoError(t, err)
		m, err := bed.BeginMigration(slot, another(t, bed, from))
		require.NoError(t, err)
		for moved := 1; moved > 0; {
			moved, err = m.MoveSome(5)
			require.NoError(t, err)
			require.Equal(t, int64(1), m.To().Do("WAIT", 1, patience.Milliseconds()))
		}
		require.NoError(t, m.Finish())
		require.NoError(t, bed.WaitAgreed())
	}
	t.Logf("%d own writes that met ASK, or saw that another had", asked.Load())
}
