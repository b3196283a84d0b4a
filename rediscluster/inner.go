package rediscluster

import (
	"github.com/joomcode/redispipe/internal/wire"
	"github.com/joomcode/redispipe/redis"
)

// Inner is for packages of this module: nobody else can call it.
func (c *Cluster) Inner(a wire.Ask) wire.Inner[redis.Future] {
	if _, own := a.Held.(*Cluster); own {
		return c.withinPolicy(MasterOnly)
	}
	return nil
}

// Inner is for packages of this module: nobody else can call it.
func (p PolicyMan) Inner(a wire.Ask) wire.Inner[redis.Future] {
	if _, own := a.Held.(PolicyMan); own {
		return p.withinPolicy(p.Policy)
	}
	return nil
}

// withinPolicy returns the one of a policy. Those of the policies that there are stand in
// Cluster.within: it is asked for with each request.
func (c *Cluster) withinPolicy(policy ReplicaPolicyEnum) *within {
	if i := int(policy); i >= 0 && i < len(c.within) {
		return &c.within[i]
	}
	return &within{c, policy}
}

// SendEncoded implements wire.Inner.
func (w *within) SendEncoded(r *wire.Request, cb redis.Future, n uint64) {
	w.c.sendEncoded(w.policy, r, cb, n)
}

// WantsSlot implements wire.Inner.
func (*within) WantsSlot() bool { return true }
