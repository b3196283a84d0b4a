package rediscluster

import (
	"sync/atomic"
	"time"

	"github.com/joomcode/redispipe/internal/route"
	"github.com/joomcode/redispipe/internal/wire"
)

// ReplicaPolicyEnum says which nodes of a shard a request may go to.
type ReplicaPolicyEnum int8

const (
	// MasterOnly sends all to the master.
	MasterOnly ReplicaPolicyEnum = iota
	// MasterAndSlaves sends reads to the master and its replicas, in even shares.
	MasterAndSlaves
	// PreferSlaves sends reads to the master and its replicas; each replica gets
	// three times the master's share.
	PreferSlaves
	// ForceMasterAndSlaves is MasterAndSlaves for all requests, including those that
	// are not known to be reads, such as a script that only reads.
	ForceMasterAndSlaves
	// ForcePreferSlaves is PreferSlaves for all requests, in the same way.
	ForcePreferSlaves
)

// String implements fmt.Stringer.
func (p ReplicaPolicyEnum) String() string {
	switch p {
	case MasterOnly:
		return "MasterOnly"
	case MasterAndSlaves:
		return "MasterAndSlaves"
	case PreferSlaves:
		return "PreferSlaves"
	case ForceMasterAndSlaves:
		return "ForceMasterAndSlaves"
	case ForcePreferSlaves:
		return "ForcePreferSlaves"
	}
	return "unknown policy"
}

// routeSpec is what a request is routed by, with its policy.
type routeSpec struct {
	route.Spec
	policy ReplicaPolicyEnum
	// blocks: the request may block. No attempt of it begins after Shutdown has begun,
	// which would have to wait for it.
	blocks bool
}

// spec returns the routing, without the slot, of a request that is known to be safe on
// replicas.
func (p ReplicaPolicyEnum) spec(seed RoundRobinSeed) routeSpec {
	spec := routeSpec{policy: p, Spec: route.Spec{Slot: wire.NoSlot, Seed: seed, ReplicaShare: 1}}
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

// ConnHostPolicyEnum says which connection of a node a request goes to.
type ConnHostPolicyEnum int8

const (
	// ConnHostPreferFirst uses the first connection that is up, so that batches are as large
	// as can be. The others are used while it is not.
	ConnHostPreferFirst ConnHostPolicyEnum = iota
	// ConnHostRoundRobin uses all connections in turn.
	ConnHostRoundRobin
)

// WeightProvider sets the shares of nodes in reads.
type WeightProvider interface {
	// GetWeightByHost returns the weight of a host, or false if it has none, which
	// means 1. It is called with the host first, and then with host:port, for all nodes
	// every CheckInterval. A node of weight zero is read from only if there is no
	// other.
	GetWeightByHost(host string) (uint32, bool)
}

// RoundRobinSeed provides the numbers by which nodes and connections are chosen. It is
// called for each request that has a choice, by many goroutines.
type RoundRobinSeed interface {
	// Current returns the current number. Consecutive numbers give the nodes exactly
	// their shares.
	Current() uint32
}

// FairRoundRobinSeed changes with each request: requests are spread evenly, and
// batches are smaller. The zero value is ready.
type FairRoundRobinSeed struct {
	n atomic.Uint32
}

// Current implements RoundRobinSeed.
func (s *FairRoundRobinSeed) Current() uint32 { return s.n.Add(1) }

// TimedRoundRobinSeed changes with time: requests within one interval go to the same
// node, in larger batches.
type TimedRoundRobinSeed struct {
	start    time.Time
	interval time.Duration
	// stopped is the last number plus one, once Stop was called.
	stopped atomic.Uint64
}

// defaultSeedInterval: long enough for batches of thousands of requests, and
// short enough for shares to be even over any second.
const defaultSeedInterval = 45 * time.Millisecond

// NewTimedRoundRobinSeed makes a seed that changes every interval, which is at least 1
// ms.
func NewTimedRoundRobinSeed(interval time.Duration) *TimedRoundRobinSeed {
	return &TimedRoundRobinSeed{start: time.Now(), interval: max(interval, time.Millisecond)}
}

// Current implements RoundRobinSeed.
func (s *TimedRoundRobinSeed) Current() uint32 {
	if last := s.stopped.Load(); last != 0 {
		return uint32(last - 1)
	}
	return s.running()
}

func (s *TimedRoundRobinSeed) running() uint32 {
	return uint32(time.Since(s.start) / s.interval)
}

// Stop keeps the seed at its current number forever.
func (s *TimedRoundRobinSeed) Stop() {
	s.stopped.CompareAndSwap(0, uint64(s.running())+1)
}

var defaultSeed = NewTimedRoundRobinSeed(defaultSeedInterval)

// DefaultRoundRobinSeed returns the seed that all clusters share by default. It changes
// every 45 ms. Do not stop it.
func DefaultRoundRobinSeed() *TimedRoundRobinSeed { return defaultSeed }
