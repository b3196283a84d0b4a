package rediscluster

import (
	"strings"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/route"
	"github.com/joomcode/redispipe/internal/slot"
	"github.com/joomcode/redispipe/internal/wire"
	"github.com/joomcode/redispipe/redis"
)

// routeSpec is what a request is routed by, and what follows from its command and policy
// beside that.
type routeSpec struct {
	route.Spec
	policy ReplicaPolicyEnum
	// blocks: it may take as long as it likes. Shutdown would wait for it, so no attempt
	// begins once that has begun.
	blocks bool
}

// newSpec returns what a request to a slot is routed by. safe is whether a replica is known
// to answer it as the master does.
func newSpec(slot int, policy ReplicaPolicyEnum, safe bool, seed RoundRobinSeed) routeSpec {
	return routeSpec{policy: policy, Spec: route.Spec{
		Slot: slot, Seed: seed,
		Replicas: policy.allowsReplica(safe), Forced: policy.forces(), ReplicaShare: policy.replicaShare(),
	}}
}

// specOf returns what a request is routed by. It refuses one that can't be routed by its
// keys; without a cluster there is none.
func (c *Cluster) specOf(r *wire.Request, policy ReplicaPolicyEnum, seed RoundRobinSeed) (routeSpec, *errorx.Error) {
	spec := newSpec(c.slotOf(r), policy, r.ReplicaSafe, seed)
	switch {
	case !c.rules.Sharded:
	case spec.Slot == wire.ManySlots:
		return spec, c.withCluster(redis.ErrNoSlotKey.New("keys of several slots: give them a common {hash tag}, or use SendSplit with MGET, MSET, DEL, UNLINK, EXISTS and TOUCH"))
	case spec.Slot == wire.NoSlot && is(r.Cmd, "PUBLISH") && r.Words() > 1:
		// Any node would take it. But the bus keeps an order for each pair of nodes only.
		spec.Slot, spec.Publishes = int(slot.Of(r.Arg(1))), true
	case spec.Slot == wire.NoSlot:
		if err := checkKeyless(r); err != nil {
			return spec, c.withCluster(err)
		}
	case is(r.Cmd, "SPUBLISH"):
		spec.Publishes = true
	}
	return spec, nil
}

// specOfAll returns what requests are routed by that go to one node together.
func (c *Cluster) specOfAll(reqs []*wire.Request, policy ReplicaPolicyEnum) (routeSpec, *errorx.Error) {
	spec := newSpec(wire.NoSlot, policy, false, c.opts.RoundRobinSeed)
	for _, r := range reqs {
		switch own := c.slotOf(r); {
		case own == wire.NoSlot:
		case own == wire.ManySlots, spec.Slot != wire.NoSlot && own != spec.Slot:
			return spec, c.withCluster(redis.ErrNoSlotKey.New("keys of several slots: give them a common {hash tag}"))
		default:
			spec.Slot = own
		}
	}
	for _, r := range reqs {
		if err := checkKeyless(r); c.rules.Sharded && spec.Slot == wire.NoSlot && err != nil {
			return spec, c.withCluster(err)
		}
	}
	return spec, nil
}

func is(cmd, name string) bool { return len(cmd) == len(name) && strings.EqualFold(cmd, name) }

// slotOf returns the slot that a request is routed by: without a cluster, one for all
// keys.
func (c *Cluster) slotOf(r *wire.Request) int {
	if c.rules.Sharded || r.Slot == wire.NoSlot {
		return r.Slot
	}
	return 0
}

// errNoLink is what a request gets that cannot be routed.
func (c *Cluster) errNoLink(spec routeSpec) *errorx.Error {
	err := ErrNoAliveConnection.New("no node that could take the request is connected")
	t := c.topology.Load()
	if t.Layout.Reason != nil {
		err = ErrNoAliveConnection.Wrap(t.Layout.Reason, "there is no master")
	}
	err = err.WithProperty(EKPolicy, spec.policy)
	if spec.Slot >= 0 {
		err = err.WithProperty(redis.EKSlot, int64(spec.Slot))
		if s := t.Shard(spec.Slot); s != nil && s.Master.Addr != "" {
			err = err.WithProperty(redis.EKAddress, s.Master.Addr)
		}
	}
	return c.withCluster(err)
}
