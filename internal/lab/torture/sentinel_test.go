package torture

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/lab/drill"
	"github.com/joomcode/redispipe/internal/lab/oracle"
	"github.com/joomcode/redispipe/rediscluster"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/redistest/chaos"
	"github.com/joomcode/redispipe/testbed"
)

// noElection is how long sentinels wait for a server in tests that must lose no write, so that they
// do not replace a master only because the machine was paused.
const noElection = 15 * time.Second

type sentinelDrill struct {
	fault func(t *testing.T, r *SentinelRig, old *testbed.Server)
	// loses is set if the servers may lose acknowledged writes. In other drills, sentinels promote
	// a master only if they are asked to.
	loses bool
	// calm is set if there is no failover, so that no request may fail.
	calm bool
	// deaf is the number of sentinels, counted from the first, whose messages do not reach the
	// client.
	deaf int
	// thaws is set if the old master continues with requests that were sent to it before it was
	// frozen.
	thaws bool
}

// T27: masters that sentinels watch fail over in all possible ways.
func TestT27Sentinel(t *testing.T) {
	beside(t)
	for name, kind := range map[string]sentinelDrill{
		"graceful": {fault: func(t *testing.T, r *SentinelRig, _ *testbed.Server) {
			_, err := r.Group.Failover(testbed.Graceful)
			require.NoError(t, err)
		}},
		"old master stays": {loses: true, fault: failOver},
		"killed and back": {loses: true, fault: func(t *testing.T, r *SentinelRig, old *testbed.Server) {
			require.NoError(t, old.Kill())
			_, err := r.Group.WaitPromoted(old)
			require.NoError(t, err)
			require.NoError(t, old.Restart()) // the old master claims to be a master
			require.NoError(t, r.Watch(old))
		}},
		"frozen and back": {loses: true, thaws: true, fault: func(t *testing.T, r *SentinelRig, old *testbed.Server) {
			require.NoError(t, old.Pause())
			_, err := r.Group.WaitPromoted(old)
			require.NoError(t, err)
			require.Eventually(t, func() bool { _, left := r.Left(old.Addr()); return left }, patience, time.Millisecond)
			require.NoError(t, old.Resume())
		}},
		"cut off from a sentinel": {loses: true, deaf: 1, fault: func(t *testing.T, r *SentinelRig, old *testbed.Server) {
			for _, on := range []chaos.Direction{chaos.Requests, chaos.Replies} {
				r.Proxies[0].Arm(chaos.Fault{Do: chaos.Swallow, On: on, At: chaos.Now(), Times: -1})
			}
			failOver(t, r, old)
			r.Proxies[0].Heal()
		}},
		"a sentinel frozen and back": {loses: true, deaf: 1, fault: func(t *testing.T, r *SentinelRig, old *testbed.Server) {
			require.NoError(t, r.Group.Sentinels()[0].Pause())
			failOver(t, r, old)
			require.NoError(t, r.Group.Sentinels()[0].Resume())
		}},
		"all sentinels down": {calm: true, fault: func(t *testing.T, r *SentinelRig, _ *testbed.Server) {
			for _, s := range r.Group.Sentinels() {
				require.NoError(t, s.Kill())
			}
			r.Client.ForceReloading()
			before := r.Ledger.Issued()
			require.Eventually(t, func() bool { return r.Ledger.Issued() > before+2000 }, patience, time.Millisecond)
			for _, s := range r.Group.Sentinels() {
				require.NoError(t, s.Restart())
			}
		}},
		"rolling restart": {fault: func(t *testing.T, r *SentinelRig, old *testbed.Server) {
			for _, s := range r.Group.Replicas(old) {
				require.NoError(t, s.Restart())
				require.NoError(t, r.Group.WaitReplicas(old))
			}
			promoted, err := r.Group.Failover(testbed.Graceful)
			require.NoError(t, err)
			require.NoError(t, old.Restart())
			require.NoError(t, r.Group.WaitReplicas(promoted))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			drill.Rotate(t)
			beside(t)
			runDrill(t, kind)
		})
	}
}

// failOver makes a sentinel promote a replica while the old master still runs.
func failOver(t *testing.T, r *SentinelRig, _ *testbed.Server) {
	_, err := r.Group.Failover(testbed.Force)
	require.NoError(t, err)
}

func runDrill(t *testing.T, drill sentinelDrill) {
	downAfter, timeout := nodeTimeout, nodeLost
	if !drill.loses {
		downAfter = noElection
	}
	if drill.calm {
		timeout = 3 * patience
	}
	group := testbed.NewGroup(t, testbed.GroupOptions{Options: testbed.Options{Persist: true}, Sentinels: 3, DownAfter: downAfter})
	r, err := NewSentinelRig(t.Name(), seed, group, rediscluster.Opts{HostOpts: redisconn.Opts{IOTimeout: timeout}})
	t.Cleanup(func() {
		r.Close()
		passes(t, r.Ledger.Report)
	})
	require.NoError(t, err)
	if drill.loses {
		r.AllowLoss()
	}
	old := group.Servers()[0]
	require.NoError(t, r.Watch(old))

	load := r.Load(8, 0)
	load.Window, load.Pause = 4, paced
	stop := background(load)
	ctx, cancel := context.WithCancel(context.Background())
	var announced time.Time
	var gaps []Gap
	var watching sync.WaitGroup
	watching.Go(func() { gaps = r.Outages(ctx, 20*time.Millisecond) })
	watching.Go(func() {
		if !drill.calm {
			announced, _ = Announced(ctx, group, group.SentinelAddrs()[drill.deaf:], old)
		}
	})
	underLoad := func() {
		before := r.Ledger.Issued()
		require.Eventually(t, func() bool { return r.Ledger.Issued() > before+1000 }, patience, time.Millisecond)
	}
	underLoad()
	drill.fault(t, r, old)
	underLoad()
	cancel()
	stop()
	watching.Wait()

	if drill.calm {
		passes(t, r.Ledger.Finish(patience))
		require.Zero(t, r.Ledger.Report.Outcomes(oracle.Unknown)+r.Ledger.Report.Outcomes(oracle.NotSent))
	} else {
		require.False(t, announced.IsZero())
		judgeMove(t, r, old, announced, drill.thaws)
		move, _ := r.Left(old.Addr())
		for _, d := range r.Dials(move.Master) { // explains a long outage
			if since := d.At.Sub(announced); since < time.Second {
				t.Logf("%v after the announcement the next master was dialed: %v", since, d.Err)
			}
		}
		for _, gap := range gaps {
			t.Logf("no write from %v to %v after the announcement", gap.From.Sub(announced), gap.To.Sub(announced))
		}
	}
	report, err := r.Judge(patience)
	require.NoError(t, err)
	passes(t, report)
	t.Log(report)
}

// judgeMove compares what the old master has run with the time when the client left it. The old
// master must not have run a request that was issued later. If it was frozen until it was replaced,
// it may only run requests from sockets that the client had already lost.
func judgeMove(t *testing.T, r *SentinelRig, old *testbed.Server, announced time.Time, thaws bool) {
	move, moved := r.Left(old.Addr())
	require.True(t, moved)
	late, last := 0, announced
	writes := r.Watched()
	for _, w := range writes {
		if slices.Contains(r.Group.Addrs(), w.From) {
			continue // the server has become a replica
		}
		for _, arg := range w.Args {
			if id, ok := tagID(r.Name, arg); ok {
				require.Less(t, id, move.Issued, "issued after the move: %v", w)
			}
		}
		if !w.At.After(announced) {
			continue
		}
		late++
		if w.At.After(last) {
			last = w.At
		}
		if thaws {
			require.True(t, r.LostBy(w.From, w.At), "sent by a socket that was not lost: %v", w)
		}
	}
	t.Logf("moved %v after the announcement; %d of %d writes on the old master after it, the last %v",
		move.At.Sub(announced), late, len(writes), last.Sub(announced))
}
