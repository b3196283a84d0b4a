package torture

import (
	"context"
	"fmt"
	"time"

	"github.com/joomcode/redispipe/internal/lab/oracle"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster"
	"github.com/joomcode/redispipe/redisdumb"
	"github.com/joomcode/redispipe/testbed"
)

// nodeTimeout is how long a node may be silent before the other nodes consider it dead.
const nodeTimeout = time.Second

// longNodeTimeout is for clusters whose nodes must keep their roles, no matter how busy the machine
// is.
const longNodeTimeout = 5 * time.Second

// ClusterRig is a cluster client under test, together with everything that judges it.
type ClusterRig struct {
	Witnesses
	Nodes  *testbed.Cluster
	Client *rediscluster.Cluster

	family oracle.Family // the goroutines of the client
}

// NewClusterRig makes a client of a cluster. Call Close.
func NewClusterRig(name string, seed int64, nodes *testbed.Cluster, opts rediscluster.Opts) (*ClusterRig, error) {
	r := &ClusterRig{Witnesses: Witnesses{seed: seed}, Nodes: nodes, family: oracle.NewFamily()}
	r.NewLedger(name)
	return r, r.Connect(opts)
}

// Connect replaces the rig's client by a new one.
func (r *ClusterRig) Connect(opts rediscluster.Opts) error {
	if r.Client != nil {
		r.Client.Close()
	}
	if opts.Logger == nil {
		opts.Logger = rediscluster.NoopLogger{}
	}
	client, err := setUp(func() (*rediscluster.Cluster, error) {
		return rediscluster.NewCluster(context.Background(), r.Nodes.Addrs(), opts)
	})
	if err != nil {
		return err
	}
	r.Client = client
	return nil
}

// Load returns a load on the cluster. The rig's ledger judges it.
func (r *ClusterRig) Load(workers, requests int) *Load {
	l := r.load(r.Client, workers, requests)
	l.Unordered = true // each request of a batch is retried separately
	return l
}

// WaitAnswers waits until a write to every shard succeeds, and returns how long
// that took.
func (r *ClusterRig) WaitAnswers(within time.Duration) (time.Duration, error) {
	begin := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	for _, key := range []string{"{c}probe", "{b}probe", "{a}probe"} { // slots 7365, 3300, 15495
		for {
			err := redis.AsError(redis.SyncCtx{S: r.Client}.Do(ctx, "SET", key, "1"))
			if err == nil {
				break
			}
			if ctx.Err() != nil {
				return 0, fmt.Errorf("torture: no answer to SET %s in %v: %w", key, within, err)
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
	return time.Since(begin), nil
}

// Judge is Rig.Judge without a proxy. All slots of the cluster must have owners.
func (r *ClusterRig) Judge(within time.Duration) (*oracle.Report, error) {
	dumb := &redisdumb.Conn{Addr: r.Nodes.Addrs()[0], Timeout: 5 * time.Second}
	defer func() { dumb.Close() }()
	// do follows redirects itself and reuses the node, because the keys of a slot come one after
	// the other, and redisdumb would be redirected for each of them.
	do := func(cmd string, args ...any) (res any) {
		for range 20 {
			res = dumb.Do(cmd, args...)
			err := redis.AsErrorx(res)
			if err == nil {
				break
			}
			if addr, moved := err.Property(redis.EKMovedTo); moved {
				dumb.Close()
				dumb = &redisdumb.Conn{Addr: fmt.Sprint(addr), Timeout: 5 * time.Second}
				continue
			}
			time.Sleep(100 * time.Millisecond)
		}
		return res
	}
	return r.verify(do, within)
}

// Close closes the client, and reports goroutines that outlive the client by a second.
func (r *ClusterRig) Close() {
	if r.Client != nil {
		r.Client.Close()
		r.family.Settle(r.Ledger.Report, endWithin, engines...)
	}
}
