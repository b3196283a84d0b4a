package redisfailover_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/joomcode/redispipe"
	"github.com/joomcode/redispipe/internal/lab/drill"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster"
	"github.com/joomcode/redispipe/redisfailover"
	"github.com/joomcode/redispipe/redistest/chaos"
	"github.com/joomcode/redispipe/testbed"
)

// failback is Opts.Failback of the pair.
const failback = time.Second

// pair is a client of two members, near and far, under load.
type pair struct {
	*redisfailover.Client
	t      *testing.T
	ledger ledger
	stop   func()
}

func newPair(t *testing.T, near, far string) *pair {
	var members []redisfailover.Member
	for i, url := range []string{near, far} {
		members = append(members, redisfailover.Member{
			Name: []string{"near", "far"}[i], URL: url + "?read_timeout=500ms", Weight: -i, Options: []redispipe.Option{redispipe.Logger(nil)},
		})
	}
	db, err := redisfailover.Open(t.Context(), members, redisfailover.Opts{
		Patience: 300 * time.Millisecond, Failback: failback, Logger: redisfailover.NoopLogger{},
	})
	require.NoError(t, err)
	t.Cleanup(db.Close)
	p := &pair{Client: db, t: t, ledger: ledger{ended: map[string]redis.Outcome{}}}
	ctx, cancel := context.WithCancel(t.Context())
	var writers sync.WaitGroup
	for writer := range 8 {
		writers.Go(func() { p.ledger.write(ctx, db, writer) })
	}
	p.stop = func() {
		cancel()
		writers.Wait()
	}
	awaits(t, db, "near")
	return p
}

// suffers begins a fault, logs how long the first request after that takes, and returns when the fault has
// lasted for some time.
func (p *pair) suffers(name string, begin func()) {
	time.Sleep(failback) // until another shift is allowed
	begin()
	began := time.Now()
	answered := make(chan time.Duration, 1000)
	for range 100 {
		go func() { // ends with its request
			if redis.OutcomeOf(p.Do(p.t.Context(), "SET", "first", name)) == redis.OutcomeValue {
				answered <- time.Since(began)
			}
		}()
		time.Sleep(20 * time.Millisecond)
	}
	p.t.Logf("%s: first answer after %v", name, (<-answered).Round(time.Millisecond))
}

// Under load, the network to two servers fails in several ways, one after the other. No write runs twice, no
// acknowledged write is lost, and no write that was reported as not sent has run.
func TestFaultsBetween(t *testing.T) {
	if !drill.InFull {
		t.Skip("it takes half a minute")
	}
	t.Parallel()
	near, far := testbed.NewServer(t), testbed.NewServer(t)
	proxy := chaos.NewProxy(t, near.Addr(), chaos.ProxyOpts{})
	p := newPair(t, "redis://"+proxy.Addr(), "redis://"+far.Addr())
	for name, fault := range map[string]chaos.Fault{
		"black hole of requests":  chaos.BlackHole(chaos.Requests),
		"black hole of replies":   chaos.BlackHole(chaos.Replies),
		"frozen":                  chaos.Freeze(),
		"half of requests reset":  {Do: chaos.Reset, On: chaos.Requests, At: chaos.AtChance(0.5), Times: -1},
		"half of replies lost":    {Do: chaos.Swallow, On: chaos.Replies, At: chaos.AtChance(0.5), Times: -1},
		"half of requests lost":   {Do: chaos.Swallow, On: chaos.Requests, At: chaos.AtChance(0.5), Times: -1},
		"replies at 200 bytes/s":  chaos.SlowReplies(20, 100*time.Millisecond),
		"each reply 300 ms later": {Do: chaos.Delay, On: chaos.Replies, At: chaos.AtChance(1), Times: -1, Interval: 300 * time.Millisecond},
	} {
		p.suffers(name, func() { proxy.Arm(fault) })
		proxy.Heal()
		awaits(t, p.Client, "near")
	}
	p.stop()
	p.ledger.verify(t, near.Do, far.Do)
}

// The same holds for two clusters, if all nodes of one of them are killed or frozen.
func TestFaultsOfClusters(t *testing.T) {
	if !drill.InFull {
		t.Skip("it takes half a minute")
	}
	t.Parallel()
	var urls [2]string
	var databases [2]ask
	var clusters [2]*testbed.Cluster
	for i := range clusters {
		clusters[i] = testbed.NewCluster(t, testbed.ClusterOptions{Options: testbed.Options{Persist: true}})
		c, err := rediscluster.NewCluster(t.Context(), clusters[i].Addrs(), rediscluster.Opts{Logger: rediscluster.NoopLogger{}})
		require.NoError(t, err)
		t.Cleanup(c.Close)
		databases[i] = redis.Sync{S: redis.WithRetry(c, redis.RetryOpts{Within: time.Minute})}.Do
		urls[i] = "redis-cluster://" + clusters[i].Addrs()[0] + "," + clusters[i].Addrs()[1]
	}
	p := newPair(t, urls[0], urls[1])
	each := func(f func(*testbed.Server) error) func() {
		return func() {
			for _, n := range clusters[0].Nodes() {
				require.NoError(t, f(n.Server))
			}
		}
	}
	p.suffers("a cluster is frozen", each((*testbed.Server).Pause))
	awaits(t, p.Client, "far")
	each((*testbed.Server).Resume)()
	awaits(t, p.Client, "near")
	p.suffers("a cluster is killed", each((*testbed.Server).Kill))
	awaits(t, p.Client, "far")
	each((*testbed.Server).Restart)()
	awaits(t, p.Client, "near")
	p.stop()
	p.ledger.verify(t, databases[0], databases[1])
}
