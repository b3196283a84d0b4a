package torture

import (
	"context"
	"time"

	"github.com/joomcode/redispipe/internal/oracle"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster"
	"github.com/joomcode/redispipe/redisdumb"
	"github.com/joomcode/redispipe/testbed"
)

// ClusterRig is a cluster client under test with all that judges it.
type ClusterRig struct {
	Name    string
	Nodes   *testbed.Cluster
	Client  *rediscluster.Cluster
	Ledger  *oracle.Ledger
	Log     *oracle.ExecLog
	Counter *oracle.Counter

	seed   int64
	before oracle.Goroutines
}

// NewClusterRig makes a client of a cluster. Close it.
func NewClusterRig(name string, seed int64, nodes *testbed.Cluster, opts rediscluster.Opts) (*ClusterRig, error) {
	r := &ClusterRig{Name: name, Nodes: nodes, seed: seed, before: oracle.RunningGoroutines()}
	r.Ledger = oracle.NewLedger(name)
	r.Log = oracle.NewExecLog(r.Ledger)
	r.Counter = oracle.NewCounter(r.Ledger, "counter:"+name)
	if opts.Logger == nil {
		opts.Logger = rediscluster.NoopLogger{}
	}
	var err error
	r.Client, err = rediscluster.NewCluster(context.Background(), nodes.Addrs(), opts)
	return r, err
}

// Load returns a load on the cluster, judged by the rig's ledger.
func (r *ClusterRig) Load(workers, requests int) *Load {
	return &Load{
		Sender: r.Client, Ledger: r.Ledger, Log: r.Log, Counter: r.Counter,
		Name: r.Name, Seed: r.seed, Workers: workers, Requests: requests,
	}
}

// Judge is Rig.Judge, without a proxy. The cluster has to be whole.
func (r *ClusterRig) Judge(within time.Duration) (*oracle.Report, error) {
	report := r.Ledger.Finish(within)
	dumb := &redisdumb.Conn{Addr: r.Nodes.Addrs()[0], Type: redisdumb.TypeCluster, Timeout: 5 * time.Second}
	defer dumb.Close()
	do := func(cmd string, args ...any) any {
		res := dumb.Do(cmd, args...)
		for range 20 {
			if redis.AsError(res) == nil {
				break
			}
			time.Sleep(100 * time.Millisecond)
			res = dumb.Do(cmd, args...)
		}
		return res
	}
	if err := r.Log.Verify(readList(do)); err != nil {
		return report, err
	}
	value, err := readCounter(do, "counter:"+r.Name)
	if err != nil {
		return report, err
	}
	r.Counter.Verify(value)
	return report, nil
}

// Close closes the client, and notes goroutines that outlive it by a second.
func (r *ClusterRig) Close() {
	if r.Client != nil {
		r.Client.Close()
		r.before.Settle(r.Ledger.Report, time.Second, engines...)
	}
}
