package route

import (
	"time"

	"github.com/joomcode/redispipe/internal/backend"
	"github.com/joomcode/redispipe/rediscluster/internal/topology"
)

// Spec is what the routing of a request depends on.
type Spec struct {
	Slot int // or send.NoSlot
	// Publishes: the request publishes to a channel, and Slot is the channel's slot.
	Publishes bool
	// Replicas: replicas may answer the request.
	Replicas bool
	// Forced: the user's policy lets replicas answer every request, even in master-only slots, but not
	// in moving slots.
	Forced bool
	// ReplicaShare is a factor by which the weight of a replica is multiplied; 0 means 1.
	ReplicaShare uint64
	// Avoid is the link that the request has just failed on, if any.
	Avoid *Link
	// Full is the first node whose queue has refused the request, if any.
	Full *Node
	Seed Seed
}

// Route returns the link for a request. It returns nil if no suitable node accepts requests, or if the
// request is a message that must not be published yet. It takes no lock.
func (t *Snapshot) Route(spec *Spec) *Link {
	if spec.Slot < 0 {
		return t.AnyMaster(spec)
	}
	if spec.Publishes && t.HoldsBack(spec.Slot) > 0 {
		return nil
	}
	at := t.Layout.Slots[spec.Slot]
	if at == topology.NoShard {
		// No node is known to serve the slot. Any node may know better, and redirect the request.
		return t.AnyMaster(spec)
	}
	s := t.Shards[at]
	if !spec.Replicas || len(s.Nodes) == 1 || t.Layout.MasterOnly.Has(spec.Slot) && !spec.Forced || s.Master.rules.Moves.Has(spec.Slot) {
		return s.Master.Pick(spec.Seed, spec.Avoid)
	}
	return s.pick(spec)
}

// Another returns a link that is up, to a node that may take the request and is neither spec.Full nor the
// node of spec.Avoid. It returns nil if there is none.
func (t *Snapshot) Another(spec *Spec) *Link {
	if l := t.Route(spec); l != nil && l.Up() && !spec.tried(l.Node) {
		return l
	}
	return nil
}

// tried reports whether the request has just failed on the node, or the node's queue has refused it.
func (spec *Spec) tried(n *Node) bool {
	return n == spec.Full || spec.Avoid != nil && n == spec.Avoid.Node
}

// AnyMaster returns a link to a master, preferably a link that is up. It returns nil if no link to a
// master accepts requests.
func (t *Snapshot) AnyMaster(spec *Spec) *Link {
	if len(t.Shards) == 0 { // NewCluster has not found the topology yet
		return nil
	}
	var waiting *Link
	number, count := spec.Seed.Current(), len(t.Shards)
	for i := range t.Shards {
		s := t.Shards[(int(number%uint32(count))+i)%count]
		l := s.Master.link(number/uint32(count), spec.Avoid)
		if l == nil {
			continue
		}
		if !spec.tried(l.Node) && l.Up() {
			return l
		}
		if waiting == nil || waiting == spec.Avoid {
			waiting = l
		}
	}
	return waiting
}

// Failure returns the latest failure of a connection to a node that could take the request, or nil if
// there is none.
func (t *Snapshot) Failure(spec *Spec) (latest *Failure) {
	var s *Shard
	if spec.Slot >= 0 {
		s = t.Shard(spec.Slot)
	}
	switch {
	case s == nil:
		for _, s := range t.Shards {
			latest = later(latest, s.Master.Failure())
		}
	case spec.Replicas:
		for _, n := range s.Nodes {
			latest = later(latest, n.Failure())
		}
	default:
		latest = s.Master.Failure()
	}
	return latest
}

// HoldsBack returns for how long messages to the channels of a slot must wait, because the slot's master
// has changed. Subscribers on the new master would get a message that is published now before messages
// that the old master has not passed on yet. The nodes do not ensure the order: a master that has become
// a replica still accepts SPUBLISH.
func (t *Snapshot) HoldsBack(slot int) time.Duration {
	if t.moved == nil || slot < 0 || !t.moved.Has(slot) {
		return 0
	}
	return backend.BusLag - time.Since(t.published)
}

// Publisher returns the node for publishing to the channels of a slot. It is the slot's master or, while
// that is not connected, the next connected master, which passes messages on over the cluster bus.
// Publisher returns nil if no master is connected.
func (t *Snapshot) Publisher(slot int) *Node {
	first := int(t.Layout.Slots[slot])
	if first == topology.NoShard {
		first = 0
	}
	for i := range t.Shards {
		n := t.Shards[(first+i)%len(t.Shards)].Master
		if n.Up() || i == 0 && n.connecting() {
			return n
		}
	}
	return nil
}

// fewNodes is the greatest number of nodes of a shard for which the choice does not allocate.
const fewNodes = 8

// pick returns a link for a request that replicas may answer. It chooses among the nodes that are up
// and in sync, by their shares. Nodes in the caller's zone go first, if one of them has a weight above
// zero. If no node is up and in sync, pick takes a node that has data, preferably one that has not just
// refused the request. One number of the seed chooses the node and the link.
func (s *Shard) pick(spec *Spec) *Link {
	number := spec.Seed.Current()
	var room [fewNodes]*Node
	live := room[:0]
	least := int32(syncLive)
	if s.failed {
		least = syncLost
	}
	for _, n := range s.Nodes {
		if n.readable(least) && !spec.tried(n) {
			live = append(live, n)
		}
	}
	if len(live) > 0 {
		rules := s.Master.rules
		if !rules.Soonest.Load() {
			live = preferred(live, (*Node).weighs)
		}
		if rules.Watch.state.Load() != watchWell {
			rules.Watch.begin()
			if l := detour(live, spec.Avoid); l != nil {
				return l
			}
			live = answering(live, number)
		}
		return draw(preferred(live, (*Node).isLocal), spec.ReplicaShare, number).link(number, spec.Avoid)
	}
	var last *Node
	for _, n := range s.Nodes {
		if !n.readable(syncLost) {
			continue
		}
		if last = n; !spec.tried(n) {
			break
		}
	}
	if last == nil {
		last = s.Master
	}
	return last.link(number, spec.Avoid)
}

// preferred returns the nodes for which so returns true, or all nodes if so returns true for none. It
// reorders nodes.
func preferred(nodes []*Node, so func(*Node) bool) []*Node {
	count := 0
	for i, n := range nodes {
		if so(n) {
			nodes[count], nodes[i] = n, nodes[count]
			count++
		}
	}
	if count == 0 {
		return nodes
	}
	return nodes[:count]
}

// draw chooses one of several nodes by their shares. It multiplies a replica's share by factor; 0 means
// 1.
func draw(nodes []*Node, factor uint64, number uint32) *Node {
	if len(nodes) == 1 {
		return nodes[0]
	}
	if nodes[0].rules.Soonest.Load() {
		return soonest(nodes)
	}
	var room [fewNodes]uint64
	weights := room[:0]
	for _, n := range nodes {
		weight := n.Weight.Load()
		if n.Replica {
			weight *= max(factor, 1)
		}
		weights = append(weights, weight)
	}
	return nodes[choose(weights, number)]
}

// soonest returns the node with the least latency. Nodes with an unknown latency come last.
func soonest(nodes []*Node) *Node {
	best, least := nodes[0], nodes[0].Latency()
	for _, n := range nodes[1:] {
		if trip := n.Latency(); sooner(least, trip) != least {
			best, least = n, trip
		}
	}
	return best
}

// Seed provides the numbers that choose nodes and connections.
type Seed interface{ Current() uint32 }

// FixedSeed is a seed with a single number.
type FixedSeed uint32

// Current implements Seed.
func (s FixedSeed) Current() uint32 { return uint32(s) }
