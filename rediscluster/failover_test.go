package rediscluster

import (
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

// counters increments several counters, each in its own goroutine, until it is stopped. It records
// between which values each counter must be.
type counters struct {
	stop  chan struct{}
	all   sync.WaitGroup
	acked [16]atomic.Int64
	// unknown counts the increments that may have run, and notSent those that have not.
	unknown, notSent, other atomic.Int64
	unknownBy               [16]atomic.Int64
	refused                 atomic.Pointer[any] // the first result that other counts
}

func (k *counters) key(g int) string { return fmt.Sprintf("counter:%d", g) }

func (k *counters) start(s redis.Sender) {
	k.stop = make(chan struct{})
	for g := range k.acked {
		k.all.Go(func() {
			for {
				select {
				case <-k.stop:
					return
				default:
				}
				k.count(g, redis.Sync{S: s}.Do("INCR", k.key(g)))
				time.Sleep(4 * time.Millisecond) // to leave processor time to the nodes
			}
		})
	}
}

func (k *counters) count(g int, res any) {
	err := redis.AsErrorx(res)
	switch {
	case err == nil:
		k.acked[g].Add(1)
	case err.HasTrait(redis.ErrTraitNotSent):
		k.notSent.Add(1)
	case err.IsOfType(redis.ErrIO):
		k.unknown.Add(1)
		k.unknownBy[g].Add(1)
	default: // the server refused it
		k.other.Add(1)
		k.refused.CompareAndSwap(nil, &res)
	}
}

func (k *counters) total() (n int64) {
	for g := range k.acked {
		n += k.acked[g].Load()
	}
	return n
}

// finish stops the increments and checks each counter. It must not be less than the number of acknowledged
// increments, unless mayLose is set, nor more than the acknowledged and unknown ones together.
func (k *counters) finish(t *testing.T, s redis.Sender, mayLose bool) {
	t.Helper()
	close(k.stop)
	k.all.Wait()
	for g := range k.acked {
		var value int64
		require.NoError(t, redis.Sync{S: s}.DoInto(&value, "GET", k.key(g)))
		if !mayLose {
			assert.GreaterOrEqual(t, value, k.acked[g].Load(), "an acknowledged write is lost")
		}
		assert.LessOrEqual(t, value, k.acked[g].Load()+k.unknownBy[g].Load(), "a write ran twice")
	}
	t.Logf("%d acknowledged, %d not sent, %d unknown, %d refused", k.total(), k.notSent.Load(), k.unknown.Load(), k.other.Load())
}

// progress waits until every goroutine has completed another increment.
func (k *counters) progress(t *testing.T) {
	t.Helper()
	var before [16]int64
	for g := range k.acked {
		before[g] = k.acked[g].Load()
	}
	await(t, "progress of all", func() bool {
		for g := range k.acked {
			if k.acked[g].Load() < before[g]+5 {
				return false
			}
		}
		return true
	})
}

// awaitMaster waits until the topology has a node as a master.
func awaitMaster(t *testing.T, c *Cluster, n *testbed.Node) {
	t.Helper()
	await(t, "new topology", func() bool {
		found := c.topology.Load().Find(n.Addr())
		return found != nil && !found.Replica
	})
}

func TestGracefulFailover(t *testing.T) {
	drill.Rotate(t)
	t.Parallel()
	tb := testbed.NewCluster(t)
	c, _ := connect(t, tb.Addrs(), Opts{})
	var k counters
	k.start(c)
	var scripted scripts
	scripted.start(c, tb.Nodes())
	for i := range 3 {
		k.progress(t)
		require.NoError(t, tb.Failover(tb.Node(3+i), testbed.Graceful))
		k.progress(t)
		awaitMaster(t, c, tb.Node(3+i))
	}
	require.NoError(t, tb.WaitAgreed())
	k.finish(t, c, false)
	scripted.finish(t)
	t.Run("callers notice nothing", func(t *testing.T) {
		// Before 7.0, a master that has handed over keeps holding back the writes of its clients, until
		// they exceed IOTimeout.
		testbed.Needs(t, testbed.Version(7, 0))
		assert.Zero(t, k.unknown.Load())
		if first := k.refused.Load(); first != nil {
			assert.Fail(t, "a write was refused", "%v", *first)
		}
	})
}

func TestFailoverByKill(t *testing.T) {
	drill.Rotate(t)
	t.Parallel()
	tb := testbed.NewCluster(t)
	c, _ := connect(t, tb.Addrs(), Opts{})
	var k counters
	k.start(c)
	k.progress(t)
	_, master := owner(t, tb, k.key(0))
	slave := replica(t, tb, master)
	require.NoError(t, master.Kill())
	awaitMaster(t, c, slave)
	k.progress(t)
	require.NoError(t, master.Restart())
	awaitReplica(t, c, master) // the client reads from the old master, which is a replica now
	require.NoError(t, tb.WaitAgreed())
	k.finish(t, c, true)
}

func TestRollingRestart(t *testing.T) {
	drill.Rotate(t)
	t.Parallel()
	tb := testbed.NewCluster(t, testbed.ClusterOptions{Options: testbed.Options{Persist: true}})
	c, _ := connect(t, tb.Addrs(), Opts{})
	var k counters
	k.start(c)
	masters, err := tb.Masters()
	require.NoError(t, err)
	for _, n := range masters {
		require.NoError(t, n.Restart())
		require.NoError(t, tb.WaitAgreed())
		k.progress(t)
	}
	k.finish(t, c, true)
}
