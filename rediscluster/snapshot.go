package rediscluster

import (
	"context"
	"slices"
	"time"

	"github.com/joomcode/redispipe/internal/topology"
)

// snapshot is the topology of the cluster with its connections. It never changes:
// requests read it without a lock, and the refresher puts another in its place.
type snapshot struct {
	layout topology.Layout
	shards []*shard // as in the layout
	nodes  []*node  // at the places that they have in the layout
	// since is when the topology before was known to hold; published is when this one
	// was put in its place.
	since, published time.Time
	// handed are the slots that had another master less than busLag before published;
	// nil: none.
	handed *topology.SlotSet
	// replaced is closed when another topology is in place.
	replaced chan struct{}
	// reign ends when a topology with other masters is in place.
	reign    context.Context
	endReign context.CancelFunc
}

// shard is a master with its replicas.
type shard struct {
	master *node
	// nodes begin with the master.
	nodes []*node
}

// nodeFor is how the refresher gets a node.
type nodeFor func(topology.Node) *node

// newSnapshot makes one of a layout.
func newSnapshot(l *topology.Layout, get nodeFor) *snapshot {
	t := &snapshot{layout: *l, replaced: make(chan struct{})}
	t.reign, t.endReign = context.WithCancel(context.Background())
	for n := range l.Nodes() {
		t.nodes = append(t.nodes, get(n))
	}
	left := t.nodes
	for _, plan := range l.Shards {
		size := 1 + len(plan.Replicas)
		t.shards = append(t.shards, &shard{master: left[0], nodes: left[:size:size]})
		left = left[size:]
	}
	return t
}

// equal reports whether there is nothing that a request would notice.
func (t *snapshot) equal(o *snapshot) bool {
	return slices.Equal(t.nodes, o.nodes) && t.layout.Equal(&o.layout)
}

// busLag is how late messages may come by the cluster's bus: one that is written behind
// another waits for an acknowledgment, which kernels delay by 40 ms.
const busLag = 100 * time.Millisecond

// handedFrom returns the slots that had another master in a topology before, or shortly
// before that one.
func (t *snapshot) handedFrom(before *snapshot) *topology.SlotSet {
	var handed topology.SlotSet
	some := false
	if before.handed != nil && t.published.Sub(before.published) < busLag {
		handed, some = *before.handed, true
	}
	for slot := range t.layout.Slots {
		old, now := before.shard(slot), t.shard(slot)
		if old != nil && now != nil && old.master.addr != now.master.addr {
			handed.Add(uint16(slot))
			some = true
		}
	}
	if !some {
		return nil
	}
	return &handed
}

// shard returns the shard of a slot, or nil if nobody serves it.
func (t *snapshot) shard(slot int) *shard {
	if i := t.layout.Slots[slot]; i != topology.NoShard {
		return t.shards[i]
	}
	return nil
}

// masters are the addresses of those that serve slots.
func (t *snapshot) masters() (addrs []string) {
	for _, s := range t.shards {
		if s.master.addr != "" {
			addrs = append(addrs, s.master.addr)
		}
	}
	return addrs
}

// find returns the node of an address, or nil if the topology does not have it.
// A master is preferred to a replica of the same address.
func (t *snapshot) find(addr string) *node {
	if at := t.layout.Find(addr); at >= 0 {
		return t.nodes[at]
	}
	return nil
}

// askReplicas has the replicas tell how their replication goes. It does not wait.
func (t *snapshot) askReplicas() {
	for _, n := range t.nodes {
		if l := n.upLink(); n.replica && l != nil {
			n.askSync(l.conn, nil)
		}
	}
}
