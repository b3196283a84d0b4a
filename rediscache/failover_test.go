package rediscache

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/lab/drill"
	"github.com/joomcode/redispipe/rediscluster"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/testbed"
)

// rounds returns how many rounds of faults a test makes.
func rounds() int {
	if drill.InFull {
		return 20
	}
	return 2
}

// runWhile judges reads, and calls fault again and again at the same time. It ends when all rounds are over and
// enough reads were judged.
func (j *judge) runWhile(t *testing.T, reads int64, fault func(round int) error) {
	t.Helper()
	if !drill.InFull {
		j.pause = 20 * time.Millisecond
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var done sync.WaitGroup
	done.Go(func() {
		defer cancel()
		for round := 0; round < rounds() || j.checked.Load() < reads; round++ {
			if err := fault(round); !assert.NoError(t, err) {
				return
			}
		}
	})
	j.run(t, ctx, 1<<62)
	done.Wait()
}

// No read is stale in a cluster whose slots move and whose masters fail over.
func TestNeverStaleInCluster(t *testing.T) {
	drill.Rotate(t)
	neverStaleInCluster(t, (*testbed.Cluster).MoveSlot)
}

// No read is stale if servers move whole slots.
func TestNeverStaleOverWholeMoves(t *testing.T) {
	testbed.Needs(t, testbed.AtomicMigration)
	neverStaleInCluster(t, (*testbed.Cluster).MoveSlotWhole)
}

// moveSlot is a way to move a slot: key by key, or with all keys at once.
type moveSlot = func(*testbed.Cluster, int, *testbed.Node) error

func neverStaleInCluster(t *testing.T, move moveSlot) {
	t.Parallel()
	bed := testbed.NewCluster(t, testbed.ClusterOptions{Masters: 2, Replicas: 2, NodeTimeout: 20 * time.Second}) // so long that no failover starts by itself
	c := cacheOf(t, clusterOf(t, bed), all)
	awaitLeases(t, c)
	j := newJudge(c, clusterOf(t, bed), 20)
	j.runWhile(t, judgedReads(1_000_000, 10_000), func(round int) error {
		for i := range 4 { // move slots of keys that the judge reads
			if err := moveSlotOf(bed, move, j.keys[(round+i)%len(j.keys)].keyLife.Load().key); err != nil {
				return err
			}
		}
		masters, err := bed.Masters()
		if err != nil {
			return err
		}
		replicas, err := bed.Replicas(masters[round%len(masters)])
		if err != nil {
			return err
		}
		return errors.Join(bed.Failover(replicas[0], testbed.Graceful), bed.WaitAgreed())
	})
}

// moveSlotOf moves the slot of a key to another master.
func moveSlotOf(bed *testbed.Cluster, move moveSlot, key string) error {
	s, err := bed.Slot(key)
	if err != nil {
		return err
	}
	owner, err := bed.Owner(s)
	if err != nil {
		return err
	}
	masters, err := bed.Masters()
	if err != nil {
		return err
	}
	for _, n := range masters {
		if n != owner {
			return move(bed, s, n)
		}
	}
	return errors.New("there is one master")
}

// No read is stale even if masters are killed. Only writes that those masters had acknowledged are
// lost.
func TestNeverStaleWhenMastersDie(t *testing.T) {
	drill.Rotate(t)
	t.Parallel()
	bed := testbed.NewCluster(t, testbed.ClusterOptions{})
	c := cacheOf(t, clusterOf(t, bed), all)
	awaitLeases(t, c)
	j := newJudge(c, clusterOf(t, bed), 20)
	j.loses = true
	// Fewer reads, because the election of a master takes most of the time.
	j.runWhile(t, judgedReads(100_000, 3_000), func(round int) error {
		s, err := bed.Slot(j.keys[round%len(j.keys)].keyLife.Load().key)
		if err != nil {
			return err
		}
		victim, err := bed.Owner(s)
		if err != nil {
			return err
		}
		if err = victim.Kill(); err != nil {
			return err
		}
		taken := assert.Eventually(t, func() bool {
			owner, err := bed.Owner(s)
			return err == nil && owner != victim
		}, patient, 10*time.Millisecond)
		if err = victim.Restart(); !taken {
			return errors.New("nobody took the killed master's place")
		}
		return errors.Join(err, bed.WaitAgreed())
	})
	assert.Positive(t, c.Stats().Dropped.Lease)
}

// No read is stale if sentinels replace the master on request.
func TestNeverStaleWithSentinels(t *testing.T) {
	drill.Rotate(t)
	neverStaleWithSentinels(t, false, func(g *testbed.Group) error {
		promoted, err := g.Failover(testbed.Graceful)
		if err != nil {
			return err
		}
		return g.WaitSettled(promoted)
	})
}

// No read is stale if sentinels replace a killed master. Only writes that the old master had
// acknowledged are lost.
func TestNeverStaleWhenSentinelsReplaceTheKilled(t *testing.T) {
	drill.Rotate(t)
	neverStaleWithSentinels(t, true, func(g *testbed.Group) error {
		victim, err := g.Master()
		if err != nil {
			return err
		}
		if err = victim.Kill(); err != nil {
			return err
		}
		promoted, err := g.WaitPromoted(victim)
		if err != nil {
			return err
		}
		if err = victim.Restart(); err != nil {
			return err
		}
		return g.WaitSettled(promoted)
	})
}

func neverStaleWithSentinels(t *testing.T, loses bool, fault func(*testbed.Group) error) {
	t.Parallel()
	// The judge keeps all processors busy. A sentinel that waits for a processor may consider servers down,
	// so DownAfter is long.
	g := testbed.NewGroup(t, testbed.GroupOptions{Sentinels: 3, DownAfter: 4 * time.Second})
	clientOf := func() *rediscluster.Cluster {
		c, err := rediscluster.NewSentinel(context.Background(), g.SentinelAddrs(), g.MasterName(), rediscluster.Opts{
			Logger:   rediscluster.NoopLogger{},
			HostOpts: redisconn.Opts{IOTimeout: 5 * time.Second, Logger: redisconn.NoopLogger{}},
		})
		require.NoError(t, err)
		t.Cleanup(c.Close)
		return c
	}
	c := cacheOf(t, clientOf(), all)
	awaitLeases(t, c)
	j := newJudge(c, clientOf(), 20)
	j.loses = loses
	reads := judgedReads(1_000_000, 10_000)
	if loses { // the sentinels need most of the time to notice the failure
		reads = judgedReads(100_000, 3_000)
	}
	j.runWhile(t, reads, func(int) error { return fault(g) })
	assert.Positive(t, c.Stats().Dropped.Lease)
}
