package topology

import (
	"iter"
	"maps"
	"math/bits"
	"slices"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/internal/slot"
)

// Layout is a cluster by its addresses: which of them serve which slots. Once it is in
// use it does not change.
type Layout struct {
	Slots  [slot.Count]uint16 // index in Shards, or NoShard
	Shards []Shard
	// others are masters that serve no slot, such as one that slots are about to be moved
	// to.
	others []string
	// aliases are further addresses of the same nodes.
	aliases map[string]string
	// Hostnames are known for some of the addresses.
	Hostnames map[string]string
	// Zones are told for some of the addresses.
	Zones map[string]string
	// MasterOnly are the slots that users want to be read from their masters.
	MasterOnly SlotSet
	// OnMove are the slots of which a node says that their keys are moving, and Stable those
	// of which their masters say that they are not.
	OnMove, Stable SlotSet
	// Failed are the addresses of the masters that have failed, as CLUSTER NODES says.
	Failed map[string]bool
	// Server is the run_id of the master where there is no cluster, empty if the master has
	// not told it.
	Server string
	// Reason is why a shard has no master: its address is empty then.
	Reason *errorx.Error
}

// NoShard stands in Layout.Slots for a slot that nobody serves.
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

// Empty returns a layout in which nobody serves any slot.
func Empty() *Layout {
	l := &Layout{}
	for i := range l.Slots {
		l.Slots[i] = NoShard
	}
	return l
}

// oneShard returns the layout of a master with replicas without a cluster: one shard for all
// slots. An empty master is none.
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

// Find returns the place among Nodes of the node of an address, or -1. A master is
// preferred to a replica of the same address.
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

// masterOf returns the address of the master of a slot, if anybody serves it.
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

// Masters are the addresses of those that serve slots.
func (l *Layout) Masters() (addrs []string) {
	for _, s := range l.Shards {
		if s.Master != "" {
			addrs = append(addrs, s.Master)
		}
	}
	return addrs
}

// whole reports whether all slots are served.
func (l *Layout) whole() bool { return !slices.Contains(l.Slots[:], NoShard) }

// Equal reports whether there is nothing in the other layout that a request would notice.
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
