package rediscluster

import (
	"strings"
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/slot"
	"github.com/joomcode/redispipe/internal/wire"
	"github.com/joomcode/redispipe/redis"
)

// routeSpec is what a request is routed by.
type routeSpec struct {
	slot int // or wire.NoSlot
	// publishes: slot is that of a channel that the request publishes to.
	publishes bool
	policy    ReplicaPolicyEnum
	// replicas: replicas may answer.
	replicas bool
	// lasts: it may take as long as it likes. Shutdown would wait for it, so no attempt
	// begins once that has begun.
	lasts bool
	// avoid is the link that the request has just failed on, if any.
	avoid *link
	seed  RoundRobinSeed
}

// route returns the link for a request, nil if no node that could take it
// accepts requests. It takes no lock.
func (t *snapshot) route(spec routeSpec) *link {
	if spec.slot < 0 {
		return t.anyMaster(spec)
	}
	if spec.publishes && t.holdsBack(spec) > 0 {
		return nil
	}
	s := t.shard(spec.slot)
	if s == nil {
		// Nobody serves the slot as far as is known; a node tells for sure.
		return t.anyMaster(spec)
	}
	if !spec.replicas || len(s.nodes) == 1 || t.layout.MasterOnly.Has(spec.slot) && !spec.policy.forces() {
		return s.master.pick(spec.seed, spec.avoid)
	}
	return s.pick(spec)
}

// anyMaster returns a link of some master, one that is up if there is any.
func (t *snapshot) anyMaster(spec routeSpec) *link {
	if len(t.shards) == 0 { // while NewCluster is at work
		return nil
	}
	var waiting *link
	first := int(spec.seed.Current() % uint32(len(t.shards)))
	for i := range t.shards {
		l := t.shards[(first+i)%len(t.shards)].master.pick(spec.seed, spec.avoid)
		if l == nil {
			continue
		}
		if l != spec.avoid && l.state.Load() == linkUp {
			return l
		}
		if waiting == nil || waiting == spec.avoid {
			waiting = l
		}
	}
	return waiting
}

// fewNodes is how many nodes of a shard are chosen among without allocating.
const fewNodes = 8

// pick returns a link for a request that replicas may answer: of the nodes that
// are up and live, one by its share; then of any that has data.
func (s *shard) pick(spec routeSpec) *link {
	var room [fewNodes]*node
	live := room[:0]
	for _, n := range s.nodes {
		if n.readable(syncLive) && (spec.avoid == nil || spec.avoid.node != n) {
			live = append(live, n)
		}
	}
	if len(live) > 0 {
		return s.draw(nearest(live), spec).pick(spec.seed, spec.avoid)
	}
	for _, n := range s.nodes {
		if n.readable(syncLost) {
			return n.pick(spec.seed, spec.avoid)
		}
	}
	return s.master.pick(spec.seed, spec.avoid)
}

// nearest returns those of the nodes that are in the caller's zone, all if none is. It
// changes their order.
func nearest(nodes []*node) []*node {
	local := 0
	for i, n := range nodes {
		if n.local.Load() {
			nodes[local], nodes[i] = n, nodes[local]
			local++
		}
	}
	if local == 0 {
		return nodes
	}
	return nodes[:local]
}

// readable reports whether the node is up and, if it is a replica, its
// replication is at least so well.
func (n *node) readable(least int32) bool {
	return n.isUp() && (!n.replica || n.sync.Load() >= least)
}

// draw chooses one of several nodes by their shares.
func (s *shard) draw(nodes []*node, spec routeSpec) *node {
	if len(nodes) == 1 {
		return nodes[0]
	}
	if nodes[0].c.minLatency.Load() {
		return soonest(nodes)
	}
	var room [fewNodes]uint64
	weights := room[:0]
	for _, n := range nodes {
		weights = append(weights, n.weight.Load()*spec.policy.preference(n.replica))
	}
	return nodes[choose(weights, spec.seed.Current())]
}

// soonest returns the node of the least latency. Those without one yet come last.
func soonest(nodes []*node) *node {
	best, least := nodes[0], nodes[0].latency()
	for _, n := range nodes[1:] {
		if trip := n.latency(); trip > 0 && (least == 0 || trip < least) {
			best, least = n, trip
		}
	}
	return best
}

// specOf returns what a request is routed by. It refuses one that can't be routed by its
// keys; without a cluster there is none.
func (c *Cluster) specOf(r *wire.Request, policy ReplicaPolicyEnum, seed RoundRobinSeed) (routeSpec, *errorx.Error) {
	spec := routeSpec{slot: c.slotOf(r), policy: policy, replicas: policy.allowsReplica(r.ReplicaSafe), seed: seed}
	switch {
	case !c.sharded:
	case spec.slot == wire.ManySlots:
		return spec, c.withCluster(redis.ErrNoSlotKey.New("keys of several slots: give them a common {hash tag}, or use SendSplit with MGET, MSET, DEL, UNLINK, EXISTS and TOUCH"))
	case spec.slot == wire.NoSlot && is(r.Cmd, "PUBLISH") && r.Words() > 1:
		// Any node would take it. But the bus keeps an order for each pair of nodes only.
		spec.slot, spec.publishes = int(slot.Of(r.Arg(1))), true
	case spec.slot == wire.NoSlot:
		if err := checkKeyless(r); err != nil {
			return spec, c.withCluster(err)
		}
	case is(r.Cmd, "SPUBLISH"):
		spec.publishes = true
	}
	return spec, nil
}

// specOfAll returns what requests are routed by that go to one node together.
func (c *Cluster) specOfAll(reqs []*wire.Request, policy ReplicaPolicyEnum) (routeSpec, *errorx.Error) {
	spec := routeSpec{slot: wire.NoSlot, policy: policy, replicas: policy.allowsReplica(false), seed: c.opts.RoundRobinSeed}
	for _, r := range reqs {
		switch own := c.slotOf(r); {
		case own == wire.NoSlot:
		case own == wire.ManySlots, spec.slot != wire.NoSlot && own != spec.slot:
			return spec, c.withCluster(redis.ErrNoSlotKey.New("keys of several slots: give them a common {hash tag}"))
		default:
			spec.slot = own
		}
	}
	for _, r := range reqs {
		if err := checkKeyless(r); c.sharded && spec.slot == wire.NoSlot && err != nil {
			return spec, c.withCluster(err)
		}
	}
	return spec, nil
}

func is(cmd, name string) bool { return len(cmd) == len(name) && strings.EqualFold(cmd, name) }

// holdsBack returns for how long nothing is to be published to a channel, since the master
// of its slot has changed: subscribers on the new one would get it before what the old
// one has still to pass on. No node refuses these commands: a master that has become a
// replica takes SPUBLISH still.
func (t *snapshot) holdsBack(spec routeSpec) time.Duration {
	if t.handed == nil || spec.slot < 0 || !t.handed.Has(spec.slot) {
		return 0
	}
	return busLag - time.Since(t.published)
}

// slotOf returns the slot that a request is routed by: without a cluster, one for all
// keys.
func (c *Cluster) slotOf(r *wire.Request) int {
	if c.sharded || r.Slot == wire.NoSlot {
		return r.Slot
	}
	return 0
}

// errNoLink is what a request gets that cannot be routed.
func (c *Cluster) errNoLink(spec routeSpec) *errorx.Error {
	err := ErrNoAliveConnection.New("no node that could take the request is connected")
	t := c.topology.Load()
	if t.layout.Reason != nil {
		err = ErrNoAliveConnection.Wrap(t.layout.Reason, "there is no master")
	}
	err = err.WithProperty(EKPolicy, spec.policy)
	if spec.slot >= 0 {
		err = err.WithProperty(redis.EKSlot, int64(spec.slot))
		if s := t.shard(spec.slot); s != nil && s.master.addr != "" {
			err = err.WithProperty(redis.EKAddress, s.master.addr)
		}
	}
	return c.withCluster(err)
}
