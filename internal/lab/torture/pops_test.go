package torture

import (
	"context"
	"errors"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/lab/drill"
	"github.com/joomcode/redispipe/internal/lab/oracle"
	"github.com/joomcode/redispipe/rediscluster"
	"github.com/joomcode/redispipe/rediscluster/redisclusterutil"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest/chaos"
	"github.com/joomcode/redispipe/testbed"
)

// T24: blocking pops are cancelled at random, while elements are pushed. Each element is delivered
// or stays in its list, and an outcome is unknown only if a server has not unblocked a pop in time.
// TORTURE_CANCELS, such as 100000, sets the number of cancelled pops.
func TestT24CancelledPops(t *testing.T) {
	beside(t)
	cancels := int64(long(3000, 1000))
	if given, err := strconv.ParseInt(os.Getenv("TORTURE_CANCELS"), 10, 64); err == nil {
		cancels = given
	}
	r := newRig(t, RigOpts{Conn: untimed()})
	pops := r.pops(r.Conn, 4, 4, 1)
	for begin := time.Now(); time.Since(begin) < patience; cancels += 100 {
		if pops.Run(context.Background(), cancels); pops.Late.Load() > 0 {
			break
		}
	}
	judge(t, r)
	judgePops(t, r.Witnesses, pops)
	require.GreaterOrEqual(t, pops.Cancelled.Load(), cancels)
	require.Positive(t, pops.Late.Load())
	require.Zero(t, r.Events.Count("LogDisconnected"))
}

// judgePops logs the outcomes of pops that Judge has verified before.
func judgePops(t *testing.T, w Witnesses, pops *Pops) oracle.Tally {
	t.Helper()
	tally := w.Queue.Tally()
	t.Logf("%d pops cancelled, %d delivered though their contexts had ended; %+v", pops.Cancelled.Load(), pops.Late.Load(), tally)
	require.Positive(t, tally.Delivered)
	if !w.Queue.Lossy {
		require.Equal(t, tally.Pushed, tally.Delivered+tally.Left+tally.Missing)
	}
	return tally
}

// faultsFor returns how long a fault test lasts. TORTURE_DURATION sets it.
func faultsFor() time.Duration {
	if d, err := time.ParseDuration(os.Getenv("TORTURE_DURATION")); err == nil {
		return d
	}
	return time.Duration(long(1000, 700)) * time.Millisecond
}

// playFaults injects a fault again and again while run sends the judged requests, until enough
// requests have succeeded. Before each fault it pauses until at least one request was answered
// since the last fault. It returns when the last fault is undone and run has returned.
func playFaults(t *testing.T, pause time.Duration, fault func(ctx context.Context) error,
	run func(ctx context.Context), answers func() int64, enough func() bool) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer stop()
	wg.Go(func() { run(ctx) })
	begin := time.Now()
	for time.Since(begin) < faultsFor() || !enough() {
		require.Less(t, time.Since(begin), faultsFor()+3*patience, "nothing came of the faults")
		before := answers()
		time.Sleep(pause)
		require.Eventually(t, func() bool { return answers() > before }, patience, time.Millisecond)
		require.NoError(t, fault(ctx))
	}
}

// connFault is a fault of a connection, its server, or the network between them.
type connFault struct {
	pause time.Duration
	make  func(ctx context.Context, r *Rig) error
}

var singleFaults = map[string]connFault{
	"reset": {20 * time.Millisecond, func(_ context.Context, r *Rig) error {
		r.Proxy.Arm(chaos.Fault{Do: chaos.Reset, At: chaos.Now()})
		return nil
	}},
	"reset after execution": {20 * time.Millisecond, func(ctx context.Context, r *Rig) error {
		reset := chaos.Fault{Do: chaos.Reset, On: chaos.Replies, At: chaos.AtChance(0.1), Times: 8}
		armed := r.Proxy.Arm(reset)
		return meanwhile(ctx, 20*time.Millisecond, func() error { return nil }, func() error { armed.Disarm(); return nil })
	}},
	"kill": {100 * time.Millisecond, func(ctx context.Context, r *Rig) error {
		return meanwhile(ctx, 20*time.Millisecond, r.Server.Kill, r.Server.Restart)
	}},
	"freeze": {100 * time.Millisecond, func(ctx context.Context, r *Rig) error {
		return meanwhile(ctx, 100*time.Millisecond, r.Server.Pause, r.Server.Resume)
	}},
}

// T24 while connections and the server are lost: at most as many elements are missing as outcomes
// are unknown.
func TestT24PopsUnderFaults(t *testing.T) {
	beside(t)
	for name, fault := range singleFaults {
		t.Run(name, func(t *testing.T) {
			drill.Rotate(t)
			beside(t)
			r := newRig(t, RigOpts{Conn: untimed(), ServerOpts: testbed.Options{Persist: true}})
			pops := r.pops(r.Conn, 2, 4, 1)
			pops.Patience = 100 * time.Millisecond
			playFaults(t, fault.pause, func(ctx context.Context) error { return fault.make(ctx, r) },
				func(ctx context.Context) { pops.Run(ctx, 0) }, pops.Delivered.Load,
				func() bool { return pops.Unknown.Load() > 0 })
			_, err := r.WaitConnected(patience)
			require.NoError(t, err)
			judge(t, r)
			require.Positive(t, judgePops(t, r.Witnesses, pops).UnknownPops)
		})
	}
}

// T24 in a cluster: callers block on lists while the slots of the lists move, and while masters
// hand over to their replicas. Nothing is missing. If masters are killed, only writes that were not
// replicated are lost.
func TestT24PopsInCluster(t *testing.T) {
	beside(t)
	nodes := testbed.NewCluster(t, testbed.ClusterOptions{Options: testbed.Options{Persist: true}, NodeTimeout: nodeTimeout})
	for name, fault := range map[string]func(r *ClusterRig, key string) error{
		"moving slot": moveSlowly,
		"failover": func(r *ClusterRig, key string) error {
			return replace(r, key, func(_, replica *testbed.Node) error { return nodes.Failover(replica, testbed.Graceful) })
		},
		"killed master": func(r *ClusterRig, key string) error {
			r.AllowLoss()
			return replace(r, key, func(master, replica *testbed.Node) error {
				if err := master.Kill(); err != nil {
					return err
				}
				if err := nodes.Failover(replica, testbed.Takeover); err != nil {
					return err
				}
				return master.Restart()
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			drill.Rotate(t)
			r := newClusterRig(t, nodes, nodeLost)
			pops := r.pops(r.Client, 3, 4, 1)
			pops.Patience = 100 * time.Millisecond
			lists := 0
			next := func(context.Context) error {
				lists++
				return fault(r, pops.key(lists%pops.Lists))
			}
			playFaults(t, 20*time.Millisecond, next, func(ctx context.Context) { pops.Run(ctx, 0) }, pops.Delivered.Load, always)
			answers(t, r)
			judgeCluster(t, r)
			judgePops(t, r.Witnesses, pops)
			if name == "moving slot" {
				require.Zero(t, r.Ledger.Report.Outcomes(oracle.ServerError))
			}
		})
	}
}

// deliveredEnough is how many elements are delivered before a fault and after it. The number is
// small because a pop waits for up to 100 ms, so on a slow machine there are few pops in a minute.
const deliveredEnough = 20

// T24 with sentinels: when a master hands over to a replica, nothing is missing. When it is killed,
// only writes that were not replicated are lost.
func TestT24PopsOfSentinels(t *testing.T) {
	beside(t)
	for name, tt := range map[string]struct {
		downAfter time.Duration
		fault     func(r *SentinelRig, old *testbed.Server) error
	}{
		"failover": {noElection, func(r *SentinelRig, _ *testbed.Server) error {
			_, err := r.Group.Failover(testbed.Graceful)
			return err
		}},
		"killed master": {nodeTimeout, func(r *SentinelRig, old *testbed.Server) error {
			r.AllowLoss()
			if err := old.Kill(); err != nil {
				return err
			}
			_, err := r.Group.WaitPromoted(old)
			return errors.Join(err, old.Restart())
		}},
	} {
		t.Run(name, func(t *testing.T) {
			drill.Rotate(t)
			beside(t)
			group := testbed.NewGroup(t, testbed.GroupOptions{Options: testbed.Options{Persist: true}, Sentinels: 3, DownAfter: tt.downAfter})
			r, err := NewSentinelRig(t.Name(), seed, group, rediscluster.Opts{HostOpts: redisconn.Opts{IOTimeout: 500 * time.Millisecond}})
			t.Cleanup(func() {
				r.Close()
				passes(t, r.Ledger.Report)
			})
			require.NoError(t, err)
			pops := r.pops(r.Client, 3, 4, 1)
			pops.Patience = 100 * time.Millisecond
			ctx, stop := context.WithCancel(context.Background())
			var wg sync.WaitGroup
			defer wg.Wait()
			defer stop()
			wg.Go(func() { pops.Run(ctx, 0) })
			delivered := func() {
				before := pops.Delivered.Load()
				require.Eventually(t, func() bool { return pops.Delivered.Load() > before+deliveredEnough }, 3*patience, time.Millisecond)
			}
			old := group.Servers()[0]
			delivered()
			require.NoError(t, tt.fault(r, old))
			delivered()
			stop()
			wg.Wait()
			_, moved := r.Left(old.Addr())
			require.True(t, moved)
			report, err := r.Judge(5 * time.Second)
			require.NoError(t, err)
			passes(t, report)
			judgePops(t, r.Witnesses, pops)
		})
	}
}

// moveSlowly moves a key's slot to another master. Halfway it waits until a caller was redirected
// to that master.
func moveSlowly(r *ClusterRig, key string) error {
	slot, err := r.Nodes.Slot(key)
	if err != nil {
		return err
	}
	masters, err := r.Nodes.Masters()
	if err != nil {
		return err
	}
	owner, err := r.Nodes.Owner(slot)
	if err != nil {
		return err
	}
	to := masters[0]
	if to == owner {
		to = masters[1]
	}
	m, err := r.Nodes.BeginMigration(slot, to)
	if err != nil {
		return err
	}
	asked := askings(to)
	followed := func() error {
		for end := time.Now().Add(10 * time.Second); askings(to) == asked; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				return errors.New("nobody follows ASK")
			}
		}
		return nil
	}
	for _, step := range []func() error{m.MoveAll, followed, m.Finish, r.Nodes.WaitAgreed} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// askings returns how many times a node got ASKING.
func askings(n *testbed.Node) string {
	info, _ := redisclusterutil.ParseInfo(n.Do("INFO", "commandstats"))
	return info["cmdstat_asking"]
}

// replace promotes the replica of a key's master, and waits until all nodes agree.
func replace(r *ClusterRig, key string, how func(master, replica *testbed.Node) error) error {
	slot, err := r.Nodes.Slot(key)
	if err != nil {
		return err
	}
	master, err := r.Nodes.Owner(slot)
	if err != nil {
		return err
	}
	replicas, err := r.Nodes.Replicas(master)
	if err != nil {
		return err
	}
	if err := how(master, replicas[0]); err != nil {
		return err
	}
	return r.Nodes.WaitAgreed()
}
