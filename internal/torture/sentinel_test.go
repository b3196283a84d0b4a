package torture

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe/internal/oracle"
	"github.com/joomcode/redispipe/rediscluster"
	"github.com/joomcode/redispipe/redisconn"
	"github.com/joomcode/redispipe/testbed"
)

// sentinelDrill is a fault under load, and what is to come of it.
type sentinelDrill struct {
	fault func(t *testing.T, r *SentinelRig, old *testbed.Server)
	// loses: the servers may lose what they have acknowledged.
	loses bool
	// calm: nobody fails over, and no request may fail.
	calm bool
}

// T24: masters that sentinels watch fail over, in all the ways that they do.
func TestT24Sentinel(t *testing.T) {
	for name, drill := range map[string]sentinelDrill{
		"graceful": {fault: func(t *testing.T, r *SentinelRig, _ *testbed.Server) {
			_, err := r.Group.Failover(testbed.Graceful)
			require.NoError(t, err)
		}},
		"old master stays": {loses: true, fault: failOver},
		"killed and back": {loses: true, fault: func(t *testing.T, r *SentinelRig, old *testbed.Server) {
			require.NoError(t, old.Kill())
			_, err := r.Group.WaitPromoted(old)
			require.NoError(t, err)
			require.NoError(t, old.Restart()) // it says that it is a master
		}},
		"frozen and back": {loses: true, fault: func(t *testing.T, r *SentinelRig, old *testbed.Server) {
			require.NoError(t, old.Pause())
			_, err := r.Group.WaitPromoted(old)
			require.NoError(t, err)
			require.NoError(t, old.Resume())
		}},
		"cut off from a sentinel": {loses: true, fault: func(t *testing.T, r *SentinelRig, old *testbed.Server) {
			for _, on := range []testbed.ProxyDirection{testbed.ProxyRequests, testbed.ProxyReplies} {
				r.Proxies[0].Arm(testbed.ProxyFault{Do: testbed.ProxySwallow, On: on, At: testbed.ProxyNow(), Times: -1})
			}
			failOver(t, r, old)
			r.Proxies[0].Heal()
		}},
		"a sentinel frozen and back": {loses: true, fault: func(t *testing.T, r *SentinelRig, old *testbed.Server) {
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
			require.Eventually(t, func() bool { return r.Ledger.Issued() > before+2000 }, 10*time.Second, time.Millisecond)
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
		t.Run(name, func(t *testing.T) { runDrill(t, drill) })
	}
}

// failOver has a replica promoted while the old master goes on.
func failOver(t *testing.T, r *SentinelRig, _ *testbed.Server) {
	_, err := r.Group.Failover(testbed.Force)
	require.NoError(t, err)
}

func runDrill(t *testing.T, drill sentinelDrill) {
	group := testbed.NewGroup(t, testbed.GroupOptions{Options: testbed.Options{Persist: true}, Sentinels: 3, DownAfter: nodeTimeout})
	r, err := NewSentinelRig(t.Name(), seed, group, rediscluster.Opts{HostOpts: redisconn.Opts{IOTimeout: 500 * time.Millisecond}})
	t.Cleanup(func() {
		r.Close()
		passes(t, r.Ledger.Report)
	})
	require.NoError(t, err)
	if drill.loses {
		r.AllowLoss()
	}
	old := group.Servers()[0]
	monitor, err := StartMonitor(old)
	require.NoError(t, err)

	load := r.Load(8, 0)
	load.Window, load.Pause = 4, time.Millisecond
	stop := background(load)
	ctx, cancel := context.WithCancel(context.Background())
	var announced time.Time
	var gaps []Gap
	var watching sync.WaitGroup
	watching.Go(func() { gaps = r.Outages(ctx, 20*time.Millisecond) })
	watching.Go(func() {
		if !drill.calm {
			announced, _ = r.Announced(ctx, old)
		}
	})
	drill.fault(t, r, old)
	before := r.Ledger.Issued()
	require.Eventually(t, func() bool { return r.Ledger.Issued() > before+1000 }, 10*time.Second, time.Millisecond)
	last, writes := monitor.Last()
	monitor.Stop()
	cancel()
	stop()
	watching.Wait()

	if drill.calm {
		passes(t, r.Ledger.Finish(time.Second+slack))
		require.Zero(t, r.Ledger.Report.Outcomes(oracle.Unknown)+r.Ledger.Report.Outcomes(oracle.NotSent))
	} else {
		require.False(t, announced.IsZero())
		t.Logf("last of %d writes on the old master %v after the announcement", writes, last.Sub(announced))
		require.Less(t, last.Sub(announced), slack)
		for _, gap := range gaps {
			t.Logf("no write from %v to %v after the announcement", gap.From.Sub(announced), gap.To.Sub(announced))
			if gap.From.Before(announced) {
				require.Less(t, gap.To.Sub(announced), time.Second+slack)
			}
		}
	}
	report, err := r.Judge(5 * time.Second)
	require.NoError(t, err)
	passes(t, report)
	t.Log(report)
}
