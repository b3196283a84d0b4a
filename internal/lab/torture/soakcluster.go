package torture

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"slices"
	"time"

	"github.com/joomcode/redispipe/internal/lab/oracle"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster"
	"github.com/joomcode/redispipe/testbed"
)

// clusterStage is a cluster of three masters and three replicas.
type clusterStage struct {
	*ClusterRig
	rnd    *rand.Rand
	totals *Totals
	// loaded is the load of this round. The slots of its keys are moved.
	loaded    *Load
	integrity bool
	policy    rediscluster.ReplicaPolicyEnum
	// gentle rounds have no fault that loses acknowledged writes, so nothing may be missing in them.
	gentle bool
}

func newClusterStage(name string, seed int64, rnd *rand.Rand, totals *Totals) (stage, error) {
	nodes, err := testbed.StartCluster(testbed.ClusterOptions{
		Options: testbed.Options{Persist: true}, NodeTimeout: nodeTimeout,
	})
	if err != nil {
		return nil, err
	}
	r, err := NewClusterRig(name, seed, nodes, soakCluster(false))
	if err != nil {
		nodes.Close()
		return nil, err
	}
	return &clusterStage{ClusterRig: r, rnd: rnd, totals: totals}, nil
}

// soakCluster returns options with a time-out that ends requests while a master is frozen and not
// yet considered dead. If such a write is sent again, it runs twice.
func soakCluster(integrity bool) rediscluster.Opts {
	opts := soakConn(integrity)
	opts.IOTimeout = nodeTimeout / 10
	return rediscluster.Opts{HostOpts: opts}
}

func (s *clusterStage) begin(round int, name string) error {
	s.NewLedger(name)
	s.gentle = round%2 == 0
	anew, integrity := changes(round)
	if !anew {
		return nil
	}
	s.integrity = integrity
	return s.Connect(soakCluster(integrity))
}

// load returns a load that reads from masters, or also from replicas.
func (s *clusterStage) load(workers int) *Load {
	s.policy = []rediscluster.ReplicaPolicyEnum{
		rediscluster.MasterOnly, rediscluster.MasterAndSlaves, rediscluster.PreferSlaves,
	}[s.rnd.Intn(3)]
	s.loaded = s.Load(workers, 0)
	s.loaded.Sender = s.Client.WithPolicy(s.policy)
	return s.loaded
}

func (s *clusterStage) pops() *Pops { return s.soakPops(s.Client) }

func (s *clusterStage) about() string {
	return fmt.Sprintf("policy %v, integrity %v, loss allowed %v", s.policy, s.integrity, s.Log.Lossy)
}

func (s *clusterStage) judge() (*oracle.Report, error) {
	if _, err := s.WaitAnswers(10 * time.Second); err != nil {
		return nil, err
	}
	if s.Log.Lossy {
		s.totals.Lossy++
	}
	return s.Judge(5 * time.Second)
}

func (s *clusterStage) clear() error {
	s.NewLedger("idle")
	s.loaded = nil
	masters, err := s.Nodes.Masters()
	for _, master := range masters {
		err = errors.Join(err, redis.AsError(master.Do("FLUSHALL")))
	}
	return err
}

func (s *clusterStage) close() *oracle.Report {
	s.Close()
	s.Nodes.Close()
	return s.Ledger.Report
}

// clusterFaults are the faults of a gentle round. Other rounds also kill masters.
var (
	clusterFaults = []string{"failover", "move slots", "restart replica", "freeze"}
	killing       = []string{"kill master", "kill master"}
)

// fault makes one random fault, and returns when all nodes agree again. If a node was replaced
// although it was not asked to hand over, writes may be lost, because it did not wait for its
// replica.
func (s *clusterStage) fault(ctx context.Context) error {
	kinds := clusterFaults
	if !s.gentle {
		kinds = slices.Concat(clusterFaults, killing)
	}
	kind := kinds[s.rnd.Intn(len(kinds))]
	masters, err := s.Nodes.Masters()
	if err != nil {
		return err
	}
	master := masters[s.rnd.Intn(len(masters))]
	replicas, err := s.Nodes.Replicas(master)
	if err != nil {
		return err
	}
	replica := replicas[s.rnd.Intn(len(replicas))]
	lasting := time.Duration(s.rnd.Int63n(int64(3 * nodeTimeout)))
	s.totals.Faults[kind]++
	switch kind {
	case "failover":
		err = s.Nodes.Failover(replica, testbed.Graceful)
	case "move slots":
		err = s.moveSlots(ctx, masters)
	case "restart replica":
		err = meanwhile(ctx, lasting, replica.Kill, replica.Restart)
	case "freeze":
		node := []*testbed.Node{master, replica}[s.rnd.Intn(2)]
		if s.gentle && node == master {
			lasting %= nodeTimeout / 2 // too short for the node to be replaced
		}
		err = meanwhile(ctx, lasting, node.Pause, node.Resume)
	case "kill master":
		s.AllowLoss()
		err = meanwhile(ctx, lasting, master.Kill, master.Restart)
	}
	if err == nil {
		err = s.Nodes.WaitAgreed()
	}
	if err != nil {
		return fmt.Errorf("%s: %w", kind, err)
	}
	if now, err := s.Nodes.Masters(); err != nil || kind != "failover" && !slices.Equal(now, masters) {
		s.AllowLoss()
		return err
	}
	return nil
}

// moveSlots moves slots of the keys of some workers.
func (s *clusterStage) moveSlots(ctx context.Context, masters []*testbed.Node) error {
	for range 1 + s.rnd.Intn(4) {
		if ctx.Err() != nil {
			return nil
		}
		slot, err := s.Nodes.Slot(s.loaded.key(s.rnd.Intn(s.loaded.Workers), ""))
		if err != nil {
			return err
		}
		if err := s.Nodes.MoveSlot(slot, masters[s.rnd.Intn(len(masters))]); err != nil {
			return err
		}
	}
	return nil
}
