package route

import (
	"context"
	"slices"
	"time"

	"github.com/joomcode/redispipe/rediscluster/internal/topology"
)

// Snapshot is the topology of the cluster with its connections. It never changes:
// requests read it without a lock, and the refresher puts another in its place.
type Snapshot struct {
	Layout topology.Layout
	Shards []*Shard // as in the layout
	Nodes  []*Node  // at the places that they have in the layout
	// Since is the last time at which the topology before this one was known to be true;
	// published is when this one took its place.
	Since, published time.Time
	// Replaced is closed when another topology is in place.
	Replaced chan struct{}
	// SameMasters ends when a topology with other masters is in place.
	SameMasters    context.Context
	endSameMasters context.CancelFunc
	// moved are the slots that had another master less than busLag before published;
	// nil: none.
	moved *topology.SlotSet
}

// Shard is a master with its replicas.
type Shard struct {
	Master *Node
	// Nodes begin with the master.
	Nodes []*Node
	// failed: the master has.
	failed bool
}

// New makes a snapshot of a layout, with the nodes that get returns.
func New(l *topology.Layout, get func(topology.Node) *Node) *Snapshot {
	t := &Snapshot{Layout: *l, Replaced: make(chan struct{})}
	t.SameMasters, t.endSameMasters = context.WithCancel(context.Background())
	for n := range l.Nodes() {
		t.Nodes = append(t.Nodes, get(n))
	}
	left := t.Nodes
	for _, plan := range l.Shards {
		size := 1 + len(plan.Replicas)
		t.Shards = append(t.Shards, &Shard{Master: left[0], Nodes: left[:size:size], failed: l.Failed[plan.Master]})
		left = left[size:]
	}
	return t
}

// Equal reports whether there is nothing that a request would notice.
func (t *Snapshot) Equal(o *Snapshot) bool {
	return slices.Equal(t.Nodes, o.Nodes) && t.Layout.Equal(&o.Layout)
}

// Changes of the topology that follow each other within changesBurst count as one for Since,
// because a reader that is late may miss all but the last.
const changesBurst = time.Second

// Settled reports whether the next change counts as one of its own: see changesBurst.
func (t *Snapshot) Settled() bool { return time.Since(t.published) >= changesBurst }

// Follow prepares the snapshot to take the place of another now. agreed is the last time at
// which the other was known to be true.
func (t *Snapshot) Follow(before *Snapshot, agreed time.Time) {
	t.Since, t.published = agreed, time.Now()
	if !before.Settled() {
		t.Since = before.Since
	}
	t.moved = t.movedSince(before)
	if slices.EqualFunc(t.Shards, before.Shards, func(a, b *Shard) bool { return a.Master == b.Master }) {
		t.SameMasters, t.endSameMasters = before.SameMasters, before.endSameMasters
	}
}

// ReplacedBy tells those who wait for it that another snapshot is in place.
func (t *Snapshot) ReplacedBy(next *Snapshot) {
	close(t.Replaced)
	if next.SameMasters != t.SameMasters {
		t.endSameMasters()
	}
}

// busLag is how late messages may come by the cluster's bus: one that is written behind
// another waits for an acknowledgment, which kernels delay by 40 ms.
const busLag = 100 * time.Millisecond

// movedSince returns the slots that had another master in a topology before, or shortly
// before that one.
func (t *Snapshot) movedSince(before *Snapshot) *topology.SlotSet {
	var moved topology.SlotSet
	if before.moved != nil && t.published.Sub(before.published) < busLag {
		moved = *before.moved
	}
	for slot := range t.Layout.Slots {
		old, now := before.Shard(slot), t.Shard(slot)
		if old != nil && now != nil && old.Master.Addr != now.Master.Addr {
			moved.Add(uint16(slot))
		}
	}
	if moved == (topology.SlotSet{}) {
		return nil
	}
	return &moved
}

// Shard returns the shard of a slot, or nil if nobody serves it.
func (t *Snapshot) Shard(slot int) *Shard {
	if i := t.Layout.Slots[slot]; i != topology.NoShard {
		return t.Shards[i]
	}
	return nil
}

// Links returns the connections of all nodes. A node may be in several places.
func (t *Snapshot) Links() map[*Link]struct{} {
	links := make(map[*Link]struct{})
	for _, n := range t.Nodes {
		for _, l := range n.Links {
			links[l] = struct{}{}
		}
	}
	return links
}

// Find returns the node of an address, or nil if the topology does not have it.
// A master is preferred to a replica of the same address.
func (t *Snapshot) Find(addr string) *Node {
	if at := t.Layout.Find(addr); at >= 0 {
		return t.Nodes[at]
	}
	return nil
}

// AskReplicas has the replicas that are connected tell how their replication goes. It does not
// wait for their answers.
func (t *Snapshot) AskReplicas() {
	for _, n := range t.Nodes {
		if l := n.upLink(); n.Replica && l != nil {
			n.askSync(l.Conn)
		}
	}
}
