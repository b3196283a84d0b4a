package rediscluster

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster/internal/route"
)

// Reads avoid a frozen replica, and no read fails. When the replica answers again, it gets its share back.
func TestReadsAvoidFrozenReplica(t *testing.T) {
	tb := sharedCluster(t)
	opts := calm
	opts.RoundRobinSeed = &FairRoundRobinSeed{}
	c, _ := connect(t, tb.Addrs(), opts)
	require.Equal(t, "OK", redis.Sync{S: c}.Do("SET", "key", "value"))
	slot, _ := owner(t, tb, "key")
	reads := c.WithPolicy(MasterAndSlaves)
	frozen := c.topology.Load().Shard(slot).Nodes[1]
	answered := func() int {
		return int(frozen.Links[0].Conn.Stats().Values)
	}
	const some = 100
	share := func() bool {
		before := answered()
		for range some {
			require.Equal(t, []byte("value"), redis.Sync{S: reads}.Do("GET", "key"))
		}
		return answered() > before
	}
	await(t, "the replica's share", share)

	node := nodeOf(t, tb, frozen.Addr)
	require.NoError(t, node.Pause())
	defer func() { _ = node.Resume() }()
	var right, wrong atomic.Int64
	sent := int64(0)
	send := func() bool { // sends some reads, and reports whether none of them went to the replica
		before := pending(frozen)
		for range some {
			sent++
			reads.Send(redis.Req("GET", "key"), redis.FuncFuture(func(res any, _ uint64) {
				if value, ok := res.([]byte); ok && string(value) == "value" {
					right.Add(1)
				} else {
					wrong.Add(1)
				}
			}), 0)
		}
		return pending(frozen) == before
	}
	await(t, "reads to go elsewhere", send)
	require.NoError(t, node.Resume())
	await(t, "all results", func() bool { return right.Load()+wrong.Load() == sent })
	assert.Zero(t, wrong.Load())
	await(t, "the replica's share again", share)
}

// pending returns how many requests wait for the node's answers, including those that are not written yet.
func pending(n *route.Node) (sum int) {
	for _, l := range n.Links {
		sum += l.Backend.Flight().Pending
	}
	return sum
}

// plenty is a send.Counter that claims many requests, so that a budget never runs out.
type plenty struct{ atomic.Uint64 }

func (p *plenty) Requests() uint64 { return p.Add(1000) }

// Reads that wait for a replica when it freezes are sent to another node, no matter which goroutine
// reads the replies.
func TestReadsLeaveFrozenReplica(t *testing.T) {
	tb := sharedCluster(t)
	opts := calm
	opts.HostOpts.IOTimeout = time.Minute
	c, _ := connect(t, tb.Addrs(), opts)
	c.rules.Budget = send.NewBudget(new(plenty), send.BudgetShare) // on a busy machine all nodes stall now and then
	require.Equal(t, "OK", redis.Sync{S: c}.Do("SET", "key", "value"))
	slot, _ := owner(t, tb, "key")
	plain := c.WithPolicy(MasterAndSlaves)
	reads := redis.SyncCtx{S: plain}
	frozen := c.topology.Load().Shard(slot).Nodes[1]
	waiting := func() int { return pending(frozen) }
	node := nodeOf(t, tb, frozen.Addr)
	ctx, cancel := context.WithTimeout(context.Background(), 40*time.Second)
	defer cancel()
	for _, tt := range []struct {
		callers int
		through redis.Sender
		many    int
	}{{1, plain, 1}, {8, plain, 1}, {64, plain, 1}, {8, redis.WithJoin(plain), 1}, {1, plain, 3}, {16, plain, 3}} {
		reads.S = tt.through
		await(t, "the replica's share", func() bool {
			before := frozen.Links[0].Conn.Stats().Values
			for range 10 {
				require.Equal(t, []byte("value"), reads.Do(ctx, "GET", "key"))
			}
			return frozen.Links[0].Conn.Stats().Values > before
		})
		require.NoError(t, node.Pause())
		defer func() { _ = node.Resume() }()
		var wg sync.WaitGroup
		for range tt.callers {
			wg.Go(func() {
				for i := 0; i < 10 || waiting() == 0; i++ {
					results := []any{nil}
					if tt.many == 1 {
						results[0] = reads.Do(ctx, "GET", "key")
					} else {
						results = reads.SendMany(ctx, slices.Repeat([]redis.Request{redis.Req("GET", "key")}, tt.many))
					}
					for _, res := range results {
						if !assert.Equal(t, []byte("value"), res) {
							return
						}
					}
				}
			})
		}
		wg.Wait()
		require.NoError(t, node.Resume())
		await(t, "the late answers", func() bool { return waiting() == 0 })
	}
}

// A read that can leave a stalled node does not run apart, because nothing would tell its caller that the node
// stalls.
func TestLargeReadsCanLeave(t *testing.T) {
	c, _ := connect(t, sharedCluster(t).Addrs(), calm)
	big := strings.Repeat("x", 1<<20)
	require.Equal(t, "OK", redis.Sync{S: c}.Do("SET", "key", big))
	apart := func() uint64 { return c.Stats().Total.Dedicated.Values }
	await(t, "reads run apart", func() bool {
		require.NoError(t, redis.AsError(redis.Sync{S: c}.Do("GET", "key")))
		return apart() > 0
	})
	before := apart()
	for range 20 {
		require.Len(t, redis.Sync{S: c.WithPolicy(MasterAndSlaves)}.Do("GET", "key"), len(big))
	}
	require.Equal(t, before, apart())
}

// allowance is a send.Counter whose number of requests the test sets.
type allowance struct{ atomic.Uint64 }

func (a *allowance) Requests() uint64 { return a.Load() }

// Reads that wait for a frozen replica while the budget is empty leave as soon as the budget allows it, and
// not before.
func TestReadsLeaveWhenTheBudgetAllows(t *testing.T) {
	tb := sharedCluster(t)
	opts := calm
	opts.HostOpts.IOTimeout, opts.CheckInterval = 10*time.Minute, 10*time.Minute // nothing but reads is in flight
	c, _ := connect(t, tb.Addrs(), opts)
	requests := new(allowance)
	c.rules.Budget = send.NewBudget(requests, send.BudgetShare)
	for c.rules.Budget.Take(1) {
	}
	require.Equal(t, "OK", redis.Sync{S: c}.Do("SET", "key", "value"))
	slot, _ := owner(t, tb, "key")
	frozen := c.topology.Load().Shard(slot).Nodes[1]
	node := nodeOf(t, tb, frozen.Addr)
	require.NoError(t, node.Pause())
	defer func() { _ = node.Resume() }()
	reads := redis.SyncCtx{S: c.WithPolicy(PreferSlaves)}
	var answered atomic.Int64
	var all sync.WaitGroup
	waiting, started := int64(0), int64(0)
	for waiting == 0 {
		for range 16 {
			started++
			all.Go(func() {
				assert.Equal(t, []byte("value"), reads.Do(t.Context(), "GET", "key"))
				answered.Add(1)
			})
		}
		await(t, "the reads to wait or be answered", func() bool {
			waiting = int64(pending(frozen))
			return waiting+answered.Load() >= started
		})
	}
	for allowed := answered.Load(); answered.Load() < started; allowed++ {
		require.LessOrEqual(t, answered.Load(), allowed, "no more than the budget allows")
		requests.Add(send.BudgetShare + 1)
		// On a busy machine the master may seem silent. Then a read that leaves may wait for the replica once more.
		await(t, "a read to leave", func() bool { return !c.rules.Budget.Has() || answered.Load() == started })
	}
	all.Wait()
	t.Log(waiting, "waited")
}
