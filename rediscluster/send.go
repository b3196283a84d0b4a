package rediscluster

import (
	"github.com/joomcode/redispipe/internal/backend"
	"github.com/joomcode/redispipe/internal/send"
	"github.com/joomcode/redispipe/redis"
)

var _ redis.Sender = (*Cluster)(nil)

// Send implements redis.Sender, with the policy MasterOnly. A request without
// keys goes to any master.
func (c *Cluster) Send(req Request, cb Future, n uint64) { c.SendWithPolicy(MasterOnly, req, cb, n) }

// SendWithPolicy is Send with a policy.
func (c *Cluster) SendWithPolicy(policy ReplicaPolicyEnum, req Request, cb Future, n uint64) {
	if !c.opened() {
		backend.Nobody.Send(req, cb, n)
		return
	}
	c.with(policy).send(req, cb, n)
}

// SendMany implements redis.Sender. It sends the requests to one shard as one batch. They
// keep their order, except for requests that are retried while slots or masters
// change; between shards there is no order. If one of the requests is malformed, it sends
// none.
func (c *Cluster) SendMany(reqs []Request, cb Future, start uint64) {
	c.WithPolicy(MasterOnly).SendMany(reqs, cb, start)
}

// SendTransaction implements redis.Sender. All keys must be in one slot. Without
// requests it sends nothing, and resolves cb at once with an empty array.
func (c *Cluster) SendTransaction(reqs []Request, cb Future, start uint64) {
	c.WithPolicy(MasterOnly).SendTransaction(reqs, cb, start)
}

// WithPolicy returns a Sender that uses the given policy.
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
func (p PolicyMan) Send(req Request, cb Future, n uint64) { p.SendWithPolicy(p.Policy, req, cb, n) }

// SendMany implements redis.Sender; see Cluster.SendMany.
func (p PolicyMan) SendMany(reqs []Request, cb Future, start uint64) {
	if !p.opened() {
		backend.Nobody.SendMany(reqs, cb, start)
		return
	}
	p.with(p.Policy).sendMany(reqs, cb, start)
}

// SendTransaction implements redis.Sender. It goes to a replica only with a
// policy that forces it.
func (p PolicyMan) SendTransaction(reqs []Request, cb Future, start uint64) {
	if !p.opened() {
		backend.Nobody.SendTransaction(reqs, cb, start)
		return
	}
	p.with(p.Policy).sendTransaction(reqs, cb, start)
}

func init() {
	send.Opens(func(sender any) (inside any, known bool) {
		var c *Cluster
		policy := MasterOnly
		switch sender := sender.(type) {
		case *Cluster:
			c = sender
		case PolicyMan:
			c, policy = sender.Cluster, sender.Policy
		case *PolicyMan:
			if sender != nil {
				c, policy = sender.Cluster, sender.Policy
			}
		default:
			return nil, false
		}
		if !c.opened() {
			return nil, true
		}
		return c.with(policy), true
	})
}
