package rediscluster

import "github.com/joomcode/redispipe/redis"

var _ redis.Sender = (*Cluster)(nil)

// Send implements redis.Sender, with the policy MasterOnly. A request without
// keys goes to any master.
func (c *Cluster) Send(req Request, cb Future, n uint64) { c.send(MasterOnly, req, cb, n) }

// SendWithPolicy is Send with a policy.
func (c *Cluster) SendWithPolicy(policy ReplicaPolicyEnum, req Request, cb Future, n uint64) {
	c.send(policy, req, cb, n)
}

// SendMany implements redis.Sender. The requests to one shard go out as one batch. They
// keep their order, except for those that have to be sent again while slots or masters
// change; between shards there is no order. If one of the requests is malformed, none
// is sent.
func (c *Cluster) SendMany(reqs []Request, cb Future, start uint64) {
	c.sendMany(MasterOnly, reqs, cb, start)
}

// SendTransaction implements redis.Sender. All keys have to be of one slot. Without
// requests nothing is sent, and cb is resolved at once with an empty array.
func (c *Cluster) SendTransaction(reqs []Request, cb Future, start uint64) {
	c.sendTransaction(MasterOnly, reqs, cb, start)
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
func (p PolicyMan) Send(req Request, cb Future, n uint64) { p.send(p.Policy, req, cb, n) }

// SendMany implements redis.Sender; see Cluster.SendMany.
func (p PolicyMan) SendMany(reqs []Request, cb Future, start uint64) {
	p.sendMany(p.Policy, reqs, cb, start)
}

// SendTransaction implements redis.Sender. It goes to a replica only with a
// policy that forces it.
func (p PolicyMan) SendTransaction(reqs []Request, cb Future, start uint64) {
	p.sendTransaction(p.Policy, reqs, cb, start)
}
