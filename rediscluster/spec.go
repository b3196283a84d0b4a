package rediscluster

import (
	"strings"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/command"
	"github.com/joomcode/redispipe/internal/slot"
	"github.com/joomcode/redispipe/internal/wire"
	"github.com/joomcode/redispipe/redis"
)

// within is a Cluster with a policy. It sends for the cluster and for each PolicyMan.
// Packages of this module get it by Inner.
type within struct {
	c    *Cluster
	spec routeSpec // of the policy: see ReplicaPolicyEnum.spec
}

// with returns the cluster with a policy. Those of the known policies are made once, in
// Cluster.within, since each request needs one.
func (c *Cluster) with(policy ReplicaPolicyEnum) *within {
	if i := int(policy); i >= 0 && i < len(c.within) {
		return &c.within[i]
	}
	return &within{c, policy.spec(c.opts.RoundRobinSeed)}
}

// WantsSlot implements wire.Inner.
func (*within) WantsSlot() bool { return true }

// specOf returns the routing of a request. It refuses a request that can't be routed by
// its keys, which can't happen without a cluster.
func (w *within) specOf(r *wire.Request) (routeSpec, *errorx.Error) {
	c, spec := w.c, w.spec
	spec.Slot = r.Slot
	spec.Replicas = spec.Forced || spec.Replicas && r.ReplicaSafe
	spec.blocks = r.Shared == command.WouldBlock && !c.opts.HostOpts.ScriptMode
	switch {
	case !c.rules.Sharded && r.Slot == wire.NoSlot:
	case !c.rules.Sharded:
		spec.Slot = 0 // as those of all keys
	case r.Slot == wire.ManySlots:
		return spec, c.withCluster(redis.ErrNoSlotKey.New("keys of several slots: give them a common {hash tag}, or use SendSplit with MGET, MSET, DEL, UNLINK, EXISTS and TOUCH"))
	case r.Slot == wire.NoSlot && is(r.Cmd, "PUBLISH") && r.Words() > 1:
		// Any node would accept it, but the bus keeps the order of messages only between
		// two nodes.
		spec.Slot, spec.Publishes = int(slot.Of(r.Arg(1))), true
	case r.Slot == wire.NoSlot:
		if err := checkKeyless(r); err != nil {
			return spec, c.withCluster(err)
		}
	case !r.ReadOnly && is(r.Cmd, "SPUBLISH"):
		spec.Publishes = true
	}
	return spec, nil
}

// specOfAll returns the common routing of requests that go to one node together. what names
// them in the error for keys of several slots.
func (w *within) specOfAll(what string, reqs []*wire.Request) (routeSpec, *errorx.Error) {
	c, spec := w.c, w.spec
	spec.Replicas = spec.Forced
	for _, r := range reqs {
		switch {
		case r.Slot == wire.NoSlot:
		case !c.rules.Sharded:
			spec.Slot = 0
		case r.Slot == wire.ManySlots, spec.Slot != wire.NoSlot && r.Slot != spec.Slot:
			return spec, c.withCluster(redis.ErrNoSlotKey.New("%s has keys of several slots: give them a common {hash tag}", what))
		default:
			spec.Slot = r.Slot
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

// errNoLink is the error of a request for which no node accepts requests.
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
