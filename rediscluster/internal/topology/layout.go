package topology

import (
	"iter"
	"maps"
	"math/bits"
	"slices"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/slot"
)

// Layout maps the slots of a cluster to addresses. Once it is in use it does not change.
type Layout struct {
	Slots  [slot.Count]uint16 // index in Shards, or NoShard
	Shards []Shard
	// others are masters without slots, for example a master to which slots are about to be moved.
	others []string
	// aliases maps an address of a node to another address of the same node.
	aliases map[string]string
	// Hostnames maps addresses to host names, where known.
	Hostnames map[string]string
	// Zones maps addresses to availability zones, where known.
	Zones map[string]string
	// MasterOnly holds the slots that an operator has listed to be read only from their masters.
	MasterOnly SlotSet
	// OnMove holds the slots whose keys are moving, according to a node. Stable holds the slots whose
	// masters report that the keys are not moving.
	OnMove, Stable SlotSet
	// Failed holds the addresses of the masters that have failed, according to CLUSTER NODES.
	Failed map[string]bool
	// Server is the run_id of the master. It is empty in a cluster, or if it is not known.
	Server string
	// Reason says why a shard has no master. The address of that shard's master is then empty.
	Reason *errorx.Error
}

// NoShard is the value in Layout.Slots for a slot without an owner.
const NoShard = 0xFFFF

// Shard is a master with its replicas.
type Shard struct {
	Master   string
	Replicas []string
}

// Node is a server in one of the two roles.
type Node struct {
	Addr    string
	Replica bool
}

// Empty returns a layout in which no slot has an owner.
func Empty() *Layout {
	l := &Layout{}
	for i := range l.Slots {
		l.Slots[i] = NoShard
	}
	return l
}

// oneShard returns the layout of a master with replicas that are not a cluster: one shard for all slots.
// If there is no master, its address is empty.
func oneShard(master string, replicas []string) *Layout {
	return &Layout{Shards: []Shard{{Master: master, Replicas: replicas}}}
}

// Nodes yields the nodes: shard by shard, each master before its replicas, and then the
// members that serve no slot.
func (l *Layout) Nodes() iter.Seq[Node] {
	return func(yield func(Node) bool) {
		for _, s := range l.Shards {
			if !yield(Node{Addr: s.Master}) {
				return
			}
			for _, addr := range s.Replicas {
				if !yield(Node{Addr: addr, Replica: true}) {
					return
				}
			}
		}
		for _, addr := range l.others {
			if !yield(Node{Addr: addr}) {
				return
			}
		}
	}
}

// Find returns the index, among Nodes, of the node with the given address, or -1. It prefers a master
// to a replica with the same address.
func (l *Layout) Find(addr string) int {
	alias, known := l.aliases[addr]
	found, at := -1, 0
	for n := range l.Nodes() {
		if n.Addr == addr || known && n.Addr == alias {
			switch {
			case !n.Replica:
				return at
			case found < 0:
				found = at
			}
		}
		at++
	}
	return found
}

// masterOf returns the address of the master of a slot, if it has one.
func (l *Layout) masterOf(slot int) (addr string, served bool) {
	if shard := l.Slots[slot]; shard != NoShard {
		return l.Shards[shard].Master, true
	}
	return "", false
}

// SameMaster reports whether a slot has the same master in another layout.
func (l *Layout) SameMaster(o *Layout, slot int) bool {
	addr, served := l.masterOf(slot)
	other, also := o.masterOf(slot)
	return served == also && addr == other
}

// Masters returns the addresses of the masters that serve slots.
func (l *Layout) Masters() (addrs []string) {
	for _, s := range l.Shards {
		if s.Master != "" {
			addrs = append(addrs, s.Master)
		}
	}
	return addrs
}

// complete reports whether all slots have an owner.
func (l *Layout) complete() bool { return !slices.Contains(l.Slots[:], NoShard) }

// Equal reports whether both layouts route all requests alike.
func (l *Layout) Equal(o *Layout) bool {
	return (l.Reason == nil) == (o.Reason == nil) &&
		l.Slots == o.Slots && l.MasterOnly == o.MasterOnly && maps.Equal(l.aliases, o.aliases) && maps.Equal(l.Failed, o.Failed) && slices.Equal(l.others, o.others) &&
		slices.EqualFunc(l.Shards, o.Shards, func(a, b Shard) bool {
			return a.Master == b.Master && slices.Equal(a.Replicas, b.Replicas)
		})
}

// SlotSet is a set of slots.
type SlotSet [slot.Count / 64]uint64

// Add adds a slot.
func (s *SlotSet) Add(slot uint16) { s[slot/64] |= 1 << (slot % 64) }

func (s *SlotSet) remove(slot uint16) { s[slot/64] &^= 1 << (slot % 64) }

func (s *SlotSet) len() (n int) {
	for _, word := range s {
		n += bits.OnesCount64(word)
	}
	return n
}

// Has reports whether a slot is in the set.
func (s *SlotSet) Has(slot int) bool { return s[slot/64]>>(slot%64)&1 != 0 }
