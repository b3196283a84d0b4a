package rediscluster

import (
	"github.com/joomcode/redispipe/internal/wire"
	"github.com/joomcode/redispipe/redis"
)

var _ redis.Sender = (*Cluster)(nil)

// Send implements redis.Sender, with the policy MasterOnly. A request without
// keys goes to any master.
func (c *Cluster) Send(req Request, cb Future, n uint64) { c.with(MasterOnly).send(req, cb, n) }

// SendWithPolicy is Send with a policy.
func (c *Cluster) SendWithPolicy(policy ReplicaPolicyEnum, req Request, cb Future, n uint64) {
	c.with(policy).send(req, cb, n)
}

// SendMany implements redis.Sender. The requests to one shard go out as one batch. They
// keep their order, except for those that have to be sent again while slots or masters
// change; between shards there is no order. If one of the requests is malformed, none
// is sent.
func (c *Cluster) SendMany(reqs []Request, cb Future, start uint64) {
	c.with(MasterOnly).sendMany(reqs, cb, start)
}

// SendTransaction implements redis.Sender. All keys have to be of one slot. Without
// requests nothing is sent, and cb is resolved at once with an empty array.
func (c *Cluster) SendTransaction(reqs []Request, cb Future, start uint64) {
	c.with(MasterOnly).sendTransaction(reqs, cb, start)
}

// WithPolicy returns a Sender with a policy of its own.
func (c *Cluster) WithPolicy(policy ReplicaPolicyEnum) PolicyMan {
	return PolicyMan{Cluster: c, Policy: policy}
}

// PolicyMan is a Cluster with a policy other than MasterOnly.
type PolicyMan struct {
	*Cluster
	Policy ReplicaPolicyEnum
}

var _ redis.Sender = PolicyMan{}

// Send implements redis.Sender.
func (p PolicyMan) Send(req Request, cb Future, n uint64) { p.with(p.Policy).send(req, cb, n) }

// SendMany implements redis.Sender; see Cluster.SendMany.
func (p PolicyMan) SendMany(reqs []Request, cb Future, start uint64) {
	p.with(p.Policy).sendMany(reqs, cb, start)
}

// SendTransaction implements redis.Sender. It goes to a replica only with a
// policy that forces it.
func (p PolicyMan) SendTransaction(reqs []Request, cb Future, start uint64) {
	p.with(p.Policy).sendTransaction(reqs, cb, start)
}

// Inner is for packages of this module: nobody else can call it.
func (c *Cluster) Inner(a wire.Ask) wire.Inner[redis.Future] {
	if _, own := a.Held.(*Cluster); own || a.Embedded {
		return &c.within[MasterOnly]
	}
	return nil
}

// Inner is for packages of this module: nobody else can call it.
func (p PolicyMan) Inner(a wire.Ask) wire.Inner[redis.Future] {
	if _, own := a.Held.(PolicyMan); own || a.Embedded {
		return p.with(p.Policy)
	}
	return nil
}
