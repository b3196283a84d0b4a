package torture

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/lab/drill"
	"github.com/joomcode/redispipe/internal/lab/oracle"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/testbed"
)

// nodeLost is the time after which a client of a rig gives up a node that does not answer, in tests
// that need it.
const nodeLost = 500 * time.Millisecond

func newClusterRig(t *testing.T, nodes *testbed.Cluster, ioTimeout time.Duration) *ClusterRig {
	t.Helper()
	r, err := NewClusterRig(t.Name(), seed, nodes, rediscluster.Opts{HostOpts: redisconn.Opts{IOTimeout: ioTimeout}})
	require.NoError(t, err)
	t.Cleanup(func() {
		r.Close()
		passes(t, r.Ledger.Report)
	})
	return r
}

func judgeCluster(t *testing.T, r *ClusterRig) *oracle.Report {
	t.Helper()
	report, err := r.Judge(patience)
	require.NoError(t, err)
	passes(t, report)
	t.Log(report)
	return report
}

// background runs a load until stop is called.
func background(load *Load) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() { load.Run(ctx) })
	return func() { cancel(); wg.Wait() }
}

// answers waits until a write to every shard succeeds, and returns how long that took.
func answers(t *testing.T, r *ClusterRig) time.Duration {
	t.Helper()
	took, err := r.WaitAnswers(patience)
	require.NoError(t, err)
	return took
}

// T16: masters fail over under load, gracefully and after a kill.
func TestT16Failover(t *testing.T) {
	drill.Rotate(t)
	beside(t)
	nodes := testbed.NewCluster(t, testbed.ClusterOptions{NodeTimeout: nodeTimeout})

	t.Run("graceful", func(t *testing.T) {
		r := newClusterRig(t, nodes, nodeLost)
		load := r.Load(8, 0)
		load.Pause = paced
		stop := background(load)
		for i := range long(2, 1) {
			replicas, err := nodes.Replicas(nodes.Node(i))
			require.NoError(t, err)
			require.NoError(t, nodes.Failover(replicas[0], testbed.Graceful))
			took := answers(t, r)
			t.Logf("recovered after %v", took)
		}
		stop()
		report := judgeCluster(t, r)
		require.Positive(t, report.Outcomes(oracle.Value))
	})

	t.Run("SIGKILL", func(t *testing.T) {
		r := newClusterRig(t, nodes, nodeLost)
		r.AllowLoss() // writes that were not replicated are lost
		load := r.Load(8, 0)
		load.Pause = paced
		stop := background(load)
		slot, err := nodes.Slot("{a}")
		require.NoError(t, err)
		victim, err := nodes.Owner(slot)
		require.NoError(t, err)
		begin := time.Now()
		require.NoError(t, victim.Kill())
		require.Eventually(t, func() bool {
			owner, err := nodes.Owner(slot)
			return err == nil && owner != victim
		}, 20*time.Second, 10*time.Millisecond)
		elected := time.Since(begin)
		took := answers(t, r)
		t.Logf("elected after %v, recovered %v later", elected, took)
		stop()
		require.NoError(t, victim.Restart())
		require.NoError(t, nodes.WaitAgreed())
		judgeCluster(t, r)
	})
}

// T17: slots move back and forth under load, including transactions. Callers get no MOVED or ASK.
// T30: other callers leave at the same time, and no caller gets another caller's value.
func TestT17MovingSlots(t *testing.T) {
	drill.Rotate(t)
	beside(t)
	movingSlots(t, (*testbed.Cluster).MoveSlot)
}

// T17 with servers that move whole slots.
func TestT17SlotsMovedWhole(t *testing.T) {
	testbed.Needs(t, testbed.AtomicMigration)
	beside(t)
	movingSlots(t, (*testbed.Cluster).MoveSlotWhole)
}

func movingSlots(t *testing.T, move func(nodes *testbed.Cluster, slot int, to *testbed.Node) error) {
	nodes := testbed.NewCluster(t, testbed.ClusterOptions{Replicas: -1, NodeTimeout: longNodeTimeout})
	r := newClusterRig(t, nodes, 3*patience)
	const workers = 6
	load := r.Load(workers, 0)
	load.Pause = paced
	stop := background(load)
	var leaving sync.WaitGroup
	leaving.Go(func() {
		var l leavers
		l.run(t, leaves(long(20_000, 5000)), func(ctx context.Context, id int64) (got any, err error) {
			timer := time.AfterFunc(time.Duration(rand.IntN(300))*time.Microsecond, l.endOf(id))
			defer timer.Stop()
			var n int64
			err = redis.SyncCtx{S: r.Client}.DoInto(ctx, &n, "EVAL", "return ARGV[1]", 1, load.key(int(id)%workers, ""), id)
			return n, err
		})
	})
	for i := range long(12, 4) {
		slot, err := nodes.Slot(load.key(i%workers, ""))
		require.NoError(t, err)
		owner, err := nodes.Owner(slot)
		require.NoError(t, err)
		for shift := range 3 {
			if to := nodes.Node((i + shift) % 3); to != owner {
				require.NoError(t, move(nodes, slot, to))
				break
			}
		}
	}
	leaving.Wait()
	stop()
	report := judgeCluster(t, r)
	require.Zero(t, report.Outcomes(oracle.ServerError))
	require.Equal(t, report.Requests(), report.Outcomes(oracle.Value))
}

// T18: all nodes are restarted, one after the other.
func TestT18RollingRestart(t *testing.T) {
	drill.Rotate(t)
	beside(t)
	nodes := testbed.NewCluster(t, testbed.ClusterOptions{
		Options: testbed.Options{Persist: true}, NodeTimeout: nodeTimeout,
	})
	r := newClusterRig(t, nodes, nodeLost)
	load := r.Load(6, 0)
	load.Pause = paced
	stop := background(load)
	for _, node := range nodes.Nodes()[:long(6, 2)] {
		require.NoError(t, node.Stop())
		require.NoError(t, node.Restart())
		require.NoError(t, nodes.WaitAgreed())
		took := answers(t, r)
		t.Logf("%v: right after %v", node, took)
	}
	stop()
	r.AllowLoss() // a restarted master may have been replaced
	judgeCluster(t, r)
}

// T14 and T12 on a cluster: contexts end early, and Close is called in between.
func TestClusterCancelsAndCloses(t *testing.T) {
	beside(t)
	nodes := testbed.NewCluster(t, testbed.ClusterOptions{Replicas: -1, NodeTimeout: longNodeTimeout})
	for i := range long(10, 3) {
		r, err := NewClusterRig(fmt.Sprintf("%s-%d", t.Name(), i), seed, nodes, rediscluster.Opts{})
		require.NoError(t, err)
		load := r.Load(16, 0)
		if i%2 == 0 {
			load.Timeout = 2 * time.Millisecond
		}
		stop := background(load)
		require.Eventually(t, func() bool { return r.Ledger.Issued() > uint64(500+i*100) }, patience, time.Millisecond)
		r.Client.Close()
		stop()
		report, err := r.Judge(patience)
		require.NoError(t, err)
		passes(t, report)
		r.Close()
		passes(t, report)
	}
}
