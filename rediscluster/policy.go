package rediscluster

import (
	"sync/atomic"
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/command"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/internal/slot"
	"github.com/joomcode/redispipe/redis"
	"github.com/joomcode/redispipe/rediscluster/internal/route"
)

// ReplicaPolicyEnum decides to which nodes of a shard a request may go.
type ReplicaPolicyEnum int8

const (
	// MasterOnly sends all requests to the master.
	MasterOnly ReplicaPolicyEnum = iota
	// MasterAndSlaves sends reads to the master and its replicas, in even shares.
	MasterAndSlaves
	// PreferSlaves sends reads to the master and its replicas; each replica gets
	// three times the master's share.
	PreferSlaves
	// ForceMasterAndSlaves is MasterAndSlaves for all requests, including requests that the
	// library does not know as reads, such as a script that only reads.
	ForceMasterAndSlaves
	// ForcePreferSlaves is PreferSlaves for all requests, including those that the library does not
	// know as reads.
	ForcePreferSlaves
)

// String implements fmt.Stringer.
func (p ReplicaPolicyEnum) String() string {
	names := [...]string{"MasterOnly", "MasterAndSlaves", "PreferSlaves", "ForceMasterAndSlaves", "ForcePreferSlaves"}
	if p < 0 || int(p) >= len(names) {
		return "unknown policy"
	}
	return names[p]
}

// routeSpec is what the routing of a request depends on. It includes the policy.
type routeSpec struct {
	route.Spec
	policy ReplicaPolicyEnum
	// blocks: the request may block. No attempt starts after Shutdown has started, because
	// Shutdown would have to wait for it.
	blocks bool
}

// spec returns the routeSpec, without a slot, of a request that a replica may answer.
func (p ReplicaPolicyEnum) spec(seed RoundRobinSeed) routeSpec {
	spec := routeSpec{policy: p, Spec: route.Spec{Slot: send.NoSlot, Seed: seed, ReplicaShare: 1}}
	switch p {
	case MasterAndSlaves, PreferSlaves:
		spec.Replicas = true
	case ForceMasterAndSlaves, ForcePreferSlaves:
		spec.Replicas, spec.Forced = true, true
	}
	if p == PreferSlaves || p == ForcePreferSlaves {
		spec.ReplicaShare = 3
	}
	return spec
}

// ConnHostPolicyEnum is the policy for the choice among the connections to a node.
type ConnHostPolicyEnum int8

const (
	// ConnHostPreferFirst uses the first connection that is up, which makes batches as large
	// as possible.
	ConnHostPreferFirst ConnHostPolicyEnum = iota
	// ConnHostRoundRobin uses all connections in turn.
	ConnHostRoundRobin
)

// WeightProvider sets the nodes' shares of reads.
type WeightProvider interface {
	// GetWeightByHost returns the weight of a host, or false if it has none, which
	// means 1. Every CheckInterval the cluster calls it for each node: first with the host and, if
	// that has no weight, with host:port. It waits at most 1 s for all nodes together. A node of
	// weight zero is read from only if no node of any zone has a weight above zero.
	GetWeightByHost(host string) (uint32, bool)
}

// RoundRobinSeed provides the numbers that choose nodes and connections. It is
// called for each request that has a choice, and must be safe for concurrent use.
type RoundRobinSeed interface {
	// Current returns the current number. With consecutive numbers the nodes get exactly
	// their shares.
	Current() uint32
}

// FairRoundRobinSeed changes with each request: requests are spread evenly, but
// batches are smaller. The zero value is ready to use.
type FairRoundRobinSeed struct {
	n atomic.Uint32
}

// Current implements RoundRobinSeed. A nil s is [DefaultRoundRobinSeed].
func (s *FairRoundRobinSeed) Current() uint32 {
	if s == nil {
		return defaultSeed.Current()
	}
	return s.n.Add(1)
}

// TimedRoundRobinSeed changes with time: requests within one interval go to the same
// node, in larger batches. The zero value changes as [DefaultRoundRobinSeed] does.
type TimedRoundRobinSeed struct {
	start    time.Time
	interval time.Duration
	// stopped is the last number plus one after Stop, and zero before.
	stopped atomic.Uint64
}

// defaultSeedInterval: long enough for batches of thousands of requests, and
// short enough for shares to be even over any second.
const defaultSeedInterval = 45 * time.Millisecond

// NewTimedRoundRobinSeed returns a seed that changes every interval, which is at least 1
// ms.
func NewTimedRoundRobinSeed(interval time.Duration) *TimedRoundRobinSeed {
	return &TimedRoundRobinSeed{start: time.Now(), interval: max(interval, time.Millisecond)}
}

// Current implements RoundRobinSeed. A nil s is [DefaultRoundRobinSeed].
func (s *TimedRoundRobinSeed) Current() uint32 {
	if s == nil {
		s = defaultSeed
	}
	if last := s.stopped.Load(); last != 0 {
		return uint32(last - 1)
	}
	return s.running()
}

func (s *TimedRoundRobinSeed) running() uint32 {
	if s.interval == 0 { // the zero value
		s = defaultSeed
	}
	return uint32(time.Since(s.start) / s.interval)
}

// Stop keeps the seed at its current number forever. It does nothing if s is nil.
func (s *TimedRoundRobinSeed) Stop() {
	if s == nil {
		return
	}
	s.stopped.CompareAndSwap(0, uint64(s.running())+1)
}

var defaultSeed = NewTimedRoundRobinSeed(defaultSeedInterval)

// DefaultRoundRobinSeed returns the seed that all clusters share by default. It changes
// every 45 ms. Do not stop it.
func DefaultRoundRobinSeed() *TimedRoundRobinSeed { return defaultSeed }

// routed is a Cluster with a policy. It sends for the cluster and for each PolicyMan.
// It is the backend of both.
type routed struct {
	c    *Cluster
	spec routeSpec // of the policy: see ReplicaPolicyEnum.spec
}

// with returns the cluster with a policy. For the known policies it returns the values in
// Cluster.routed, which were created once, because each request needs one.
func (c *Cluster) with(policy ReplicaPolicyEnum) *routed {
	if i := int(policy); i >= 0 && i < len(c.routed) {
		return &c.routed[i]
	}
	return &routed{c, policy.spec(c.opts.RoundRobinSeed)}
}

// Requests implements send.Counter.
func (w *routed) Requests() (sum uint64) {
	for _, n := range w.c.topology.Load().Nodes {
		for _, l := range n.Links {
			sum += l.Backend.Requests()
		}
	}
	return sum
}

// Budget implements send.Spender.
func (w *routed) Budget() *send.Budget { return w.c.rules.Budget }

// WantsSlot implements send.Backend.
func (*routed) WantsSlot() bool { return true }

// specOf fills in spec for a request. It returns an error if the request can't be routed by its keys;
// without a cluster every request can. specOf fills in spec instead of returning it, because a copy
// right after the stores would make the processor wait for them.
func (w *routed) specOf(r *send.Request, spec *routeSpec) *errorx.Error {
	c := w.c
	*spec = w.spec
	spec.Slot = r.Slot
	spec.Replicas = spec.Forced || spec.Replicas && r.ReplicaSafe
	spec.blocks = r.Shared == command.WouldBlock && !c.opts.HostOpts.ScriptMode
	switch {
	case !c.rules.Sharded && r.Slot == send.NoSlot:
	case !c.rules.Sharded:
		spec.Slot = 0 // all keys count as keys of one slot
	case r.Slot == send.ManySlots:
		return c.withCluster(redis.ErrNoSlotKey.New("keys of several slots: give them a common {hash tag}, or use SendSplit with MGET, MSET, DEL, UNLINK, EXISTS and TOUCH"))
	case r.Slot == send.NoSlot && r.Is("PUBLISH") && r.Words() > 1:
		// Any node would accept the message, but the cluster bus keeps the order of messages only
		// between two nodes.
		spec.Slot, spec.Publishes = int(slot.Of(r.Arg(1))), true
	case r.Slot == send.NoSlot:
		if err := checkKeyless(r); err != nil {
			return c.withCluster(err)
		}
	case !r.ReadOnly && r.Is("SPUBLISH"):
		spec.Publishes = true
	}
	return nil
}

// specOfAll returns the routeSpec of requests that go to one node together. If they have keys of
// several slots, it returns an error; what is its word for the requests, such as "the transaction".
func (w *routed) specOfAll(what string, reqs []*send.Request) (routeSpec, *errorx.Error) {
	c, spec := w.c, w.spec
	spec.Replicas = spec.Forced
	for _, r := range reqs {
		switch {
		case r.Slot == send.NoSlot:
		case !c.rules.Sharded:
			spec.Slot = 0
		case r.Slot == send.ManySlots, spec.Slot != send.NoSlot && r.Slot != spec.Slot:
			return spec, c.withCluster(redis.ErrNoSlotKey.New("%s has keys of several slots: give them a common {hash tag}", what))
		default:
			spec.Slot = r.Slot
		}
	}
	for _, r := range reqs {
		if err := checkKeyless(r); c.rules.Sharded && spec.Slot == send.NoSlot && err != nil {
			return spec, c.withCluster(err)
		}
	}
	return spec, nil
}

// errNoLink returns the error of a request if no node that could take it is connected.
func (c *Cluster) errNoLink(spec routeSpec) *errorx.Error {
	err := ErrNoAliveConnection.New("no node that could take the request is connected")
	t := c.topology.Load()
	failure := t.Failure(&spec.Spec)
	switch {
	case t.Layout.Reason != nil:
		err = ErrNoAliveConnection.Wrap(t.Layout.Reason, "there is no master")
	case failure != nil:
		err = ErrNoAliveConnection.Wrap(failure.Err, "no node that could take the request is connected")
	}
	err = err.WithProperty(EKPolicy, spec.policy)
	if spec.Slot >= 0 && c.rules.Sharded { // otherwise the slot stands for all keys
		err = err.WithProperty(redis.EKSlot, int64(spec.Slot))
	}
	switch {
	case failure != nil:
		err = err.WithProperty(redis.EKAddress, failure.Addr)
	case spec.Slot >= 0:
		if s := t.Shard(spec.Slot); s != nil && s.Master.Addr != "" {
			err = err.WithProperty(redis.EKAddress, s.Master.Addr)
		}
	}
	return c.withCluster(err)
}
