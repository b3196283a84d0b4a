package route

import (
	"math/bits"
	"time"

	"github.com/joomcode/redispipe/rediscluster/internal/topology"
)

// Spec is what a request is routed by.
type Spec struct {
	Slot int // or send.NoSlot
	// Publishes: Slot is that of a channel that the request publishes to.
	Publishes bool
	// Replicas: replicas may answer.
	Replicas bool
	// Forced: the user says so, and means master-only slots, too, but not those on the move.
	Forced bool
	// ReplicaShare is the factor of a replica's share beside its weight; 0 means 1.
	ReplicaShare uint64
	// Avoid is the link that the request has just failed on, if any.
	Avoid *Link
	Seed  Seed
}

// Route returns the link for a request, nil if no node that could take it
// accepts requests. It takes no lock.
func (t *Snapshot) Route(spec *Spec) *Link {
	if spec.Slot < 0 {
		return t.AnyMaster(spec)
	}
	if spec.Publishes && t.HoldsBack(spec.Slot) > 0 {
		return nil
	}
	at := t.Layout.Slots[spec.Slot]
	if at == topology.NoShard {
		// As far as is known nobody serves the slot. Any node can tell for sure.
		return t.AnyMaster(spec)
	}
	s := t.Shards[at]
	if !spec.Replicas || len(s.Nodes) == 1 || t.Layout.MasterOnly.Has(spec.Slot) && !spec.Forced || s.Master.rules.Moves.Has(spec.Slot) {
		return s.Master.Pick(spec.Seed, spec.Avoid)
	}
	return s.pick(spec)
}

// AnyMaster returns a link of some master, one that is up if there is any.
func (t *Snapshot) AnyMaster(spec *Spec) *Link {
	if len(t.Shards) == 0 { // while NewCluster is at work
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
		if l != spec.Avoid && l.Up() {
			return l
		}
		if waiting == nil || waiting == spec.Avoid {
			waiting = l
		}
	}
	return waiting
}

// Failure returns the latest reason why a node that could take a request is not connected, nil if there
// is none.
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

// HoldsBack returns for how long nothing is to be published to the channels of a slot, because
// its master has changed. Subscribers on the new master would get such a message before those
// that the old one has not passed on yet. The nodes themselves refuse nothing: a master that
// has become a replica still takes SPUBLISH.
func (t *Snapshot) HoldsBack(slot int) time.Duration {
	if t.moved == nil || slot < 0 || !t.moved.Has(slot) {
		return 0
	}
	return busLag - time.Since(t.published)
}

// Publisher returns the node that the channels of a slot are published on: its master or,
// while that one is not connected, the next master of the topology that is, which has
// their messages by the bus. It returns nil if none is.
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

// fewNodes is how many nodes of a shard are chosen among without allocating.
const fewNodes = 8

// pick returns a link for a request that replicas may answer: of the nodes that
// are up and live, one by its share, of the caller's zone if a node there has a weight;
// then of any that has data, where it was not just refused if there is another. One number of the seed chooses the node and the link.
func (s *Shard) pick(spec *Spec) *Link {
	number := spec.Seed.Current()
	var room [fewNodes]*Node
	live := room[:0]
	least := int32(syncLive)
	if s.failed {
		least = syncLost
	}
	for _, n := range s.Nodes {
		if n.readable(least) && (spec.Avoid == nil || spec.Avoid.Node != n) {
			live = append(live, n)
		}
	}
	if len(live) > 0 {
		if !live[0].rules.Soonest.Load() {
			live = preferred(live, (*Node).weighs)
		}
		return draw(preferred(live, (*Node).isLocal), spec.ReplicaShare, number).link(number, spec.Avoid)
	}
	var last *Node
	for _, n := range s.Nodes {
		if !n.readable(syncLost) {
			continue
		}
		if last = n; spec.Avoid == nil || spec.Avoid.Node != n {
			break
		}
	}
	if last == nil {
		last = s.Master
	}
	return last.link(number, spec.Avoid)
}

// preferred returns those of the nodes that are so, all if none is. It changes their order.
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

// draw chooses one of several nodes by their shares. A replica's is multiplied by factor; 0 means 1.
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

// soonest returns the node of the least latency. Those without one yet come last.
func soonest(nodes []*Node) *Node {
	best, least := nodes[0], nodes[0].Latency()
	for _, n := range nodes[1:] {
		if trip := n.Latency(); sooner(least, trip) != least {
			best, least = n, trip
		}
	}
	return best
}

// Seed provides the numbers by which nodes and connections are chosen.
type Seed interface{ Current() uint32 }

// FixedSeed is a seed of one number.
type FixedSeed uint32

// Current implements Seed.
func (s FixedSeed) Current() uint32 { return uint32(s) }

// choose returns the index that seed draws, in proportion to the weights. If
// all are zero, they count as equal. There must be one at least.
func choose(weights []uint64, seed uint32) int {
	total := uint64(0)
	for _, w := range weights {
		total += w
	}
	// Multiplying by the golden ratio spreads seeds that follow each other
	// evenly over the whole range.
	spread := uint64(seed) * 0x9E3779B97F4A7C15
	if total == 0 {
		i, _ := bits.Mul64(spread, uint64(len(weights)))
		return int(i)
	}
	at, _ := bits.Mul64(spread, total)
	for i, w := range weights {
		if at < w {
			return i
		}
		at -= w
	}
	return len(weights) - 1
}

// Weigh sets the nodes' shares in reads: the weights that the user gives them, times the
// share by latency if byLatency is set.
func (t *Snapshot) Weigh(byLatency bool, given func(*Node) uint64) {
	for _, s := range t.Shards {
		var least time.Duration
		for _, n := range s.Nodes {
			least = sooner(least, n.Latency())
		}
		for _, n := range s.Nodes {
			w := given(n)
			if trip := n.Latency(); byLatency && trip > 0 {
				w *= latencyShare(least, trip)
			}
			n.Weight.Store(w)
		}
	}
}

// latencyScale is the share of the node that answers soonest, to which those of
// the others are whole numbers in proportion.
const latencyScale = 100

func latencyShare(least, trip time.Duration) uint64 {
	return max(uint64(latencyScale*least/trip), 1)
}
