package route

import (
	"context"
	"slices"
	"time"

	"github.com/joomcode/redispipe/internal/backend"
	"github.com/joomcode/redispipe/rediscluster/internal/topology"
)

// Snapshot is the topology of the cluster with its connections. It never changes: requests read it
// without a lock, and the refresher replaces it.
type Snapshot struct {
	Layout topology.Layout
	Shards []*Shard // in the order of Layout.Shards
	Nodes  []*Node  // in the order of Layout.Nodes
	// Since is the last time when the previous topology was known to be valid; published is the time
	// when this one replaced it.
	Since, published time.Time
	// Replaced is closed when another topology has replaced this one.
	Replaced chan struct{}
	// SameMasters ends when a topology with other masters has replaced this one.
	SameMasters    context.Context
	endSameMasters context.CancelFunc
	// moved holds the slots that had another master less than backend.BusLag before published; nil if
	// there are none.
	moved *topology.SlotSet
}

// Shard is a master with its replicas.
type Shard struct {
	Master *Node
	// Nodes lists the master first.
	Nodes []*Node
	// failed: the master has failed.
	failed bool
}

// New returns a snapshot of a layout. It calls get for each node of the layout.
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

// Equal reports whether both snapshots route all requests alike, over the same connections.
func (t *Snapshot) Equal(o *Snapshot) bool {
	return slices.Equal(t.Nodes, o.Nodes) && t.Layout.Equal(&o.Layout)
}

// changesBurst is the time within which changes of the topology count as one change. Since is then the
// time before the first of them, because a late reader may see only the last one.
const changesBurst = time.Second

// Settled reports whether the next change will count as a separate one: see changesBurst.
func (t *Snapshot) Settled() bool { return time.Since(t.published) >= changesBurst }

// Follow prepares the snapshot, which will replace another one (before). agreed is the last time when that one was
// known to be valid.
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

// ReplacedBy tells waiting goroutines that another snapshot has replaced this one.
func (t *Snapshot) ReplacedBy(next *Snapshot) {
	close(t.Replaced)
	if next.SameMasters != t.SameMasters {
		t.endSameMasters()
	}
}

// movedSince returns the slots that had another master in the snapshot before. If before itself replaced another
// snapshot less than backend.BusLag ago, movedSince includes the slots that moved then. It returns nil if there
// are none.
func (t *Snapshot) movedSince(before *Snapshot) *topology.SlotSet {
	var moved topology.SlotSet
	if before.moved != nil && t.published.Sub(before.published) < backend.BusLag {
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

// Shard returns the shard of a slot, or nil if no node serves the slot.
func (t *Snapshot) Shard(slot int) *Shard {
	if i := t.Layout.Slots[slot]; i != topology.NoShard {
		return t.Shards[i]
	}
	return nil
}

// Links returns the links of all nodes. A node may occur several times in a snapshot.
func (t *Snapshot) Links() map[*Link]struct{} {
	links := make(map[*Link]struct{})
	for _, n := range t.Nodes {
		for _, l := range n.Links {
			links[l] = struct{}{}
		}
	}
	return links
}

// Find returns the node with the given address, or nil if the topology does not have it. It prefers a
// master to a replica with the same address.
func (t *Snapshot) Find(addr string) *Node {
	if at := t.Layout.Find(addr); at >= 0 {
		return t.Nodes[at]
	}
	return nil
}

// AskReplicas asks the connected replicas for the state of their replication. It does not wait for the
// answers.
func (t *Snapshot) AskReplicas() {
	for _, n := range t.Nodes {
		if l := n.upLink(); n.Replica && l != nil {
			n.askSync(l.Conn)
		}
	}
}
