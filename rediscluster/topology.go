package rediscluster

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/joomcode/errorx"

	"github.com/joomcode/redispipe/rediscluster/redisclusterutil"
)

// topology is a snapshot of the cluster with its connections. It never changes:
// requests read it without a lock, and the refresher puts another in its place.
type topology struct {
	slots  [redisclusterutil.NumSlots]uint16 // index in shards, or noShard
	shards []*shard
	// nodes are those of the shards, and the members that serve no slot.
	nodes []*node
	// aliases are further addresses of nodes.
	aliases map[string]string
	// masterOnly are the slots that are read from their masters, whatever the policy.
	masterOnly slotSet
	// reason is why a shard has no master: its address is empty then.
	reason *errorx.Error
	// since is when the topology before was known to hold; published is when this one
	// was put in its place.
	since, published time.Time
	// handed are the slots that had another master less than busLag before published;
	// nil: none.
	handed *slotSet
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

// slotSet is a set of slots.
type slotSet [redisclusterutil.NumSlots / 64]uint64

func (s *slotSet) add(slot uint16) { s[slot/64] |= 1 << (slot % 64) }

func (s *slotSet) remove(slot uint16) { s[slot/64] &^= 1 << (slot % 64) }

func (s *slotSet) has(slot int) bool { return s[slot/64]>>(slot%64)&1 != 0 }

// nodeFor is how the refresher gets a node of an address and a role.
type nodeFor func(addr string, replica bool) *node

// newTopology makes a topology of a layout.
func newTopology(l *layout, get nodeFor) *topology {
	t := &topology{slots: l.slots, aliases: l.aliases, reason: l.reason, replaced: make(chan struct{})}
	t.reign, t.endReign = context.WithCancel(context.Background())
	for _, plan := range l.shards {
		s := &shard{master: get(plan.master, false)}
		s.nodes = append(s.nodes, s.master)
		for _, addr := range plan.replicas {
			s.nodes = append(s.nodes, get(addr, true))
		}
		t.shards = append(t.shards, s)
		t.nodes = append(t.nodes, s.nodes...)
	}
	for _, addr := range l.others {
		t.nodes = append(t.nodes, get(addr, false))
	}
	for _, slots := range []map[uint16]struct{}{l.masterOnly, l.migrating} {
		for slot := range slots {
			t.masterOnly.add(slot)
		}
	}
	return t
}

// equal reports whether there is nothing that a request would notice.
func (t *topology) equal(o *topology) bool {
	return (t.reason == nil) == (o.reason == nil) &&
		t.slots == o.slots && t.masterOnly == o.masterOnly && maps.Equal(t.aliases, o.aliases) && slices.Equal(t.nodes, o.nodes) &&
		slices.EqualFunc(t.shards, o.shards, func(a, b *shard) bool { return slices.Equal(a.nodes, b.nodes) })
}

// handedFrom returns the slots that had another master in a topology before, or shortly
// before that one.
func (t *topology) handedFrom(before *topology) *slotSet {
	var handed slotSet
	some := false
	if before.handed != nil && t.published.Sub(before.published) < busLag {
		handed, some = *before.handed, true
	}
	for slot := range t.slots {
		old, now := before.shard(slot), t.shard(slot)
		if old != nil && now != nil && old.master.addr != now.master.addr {
			handed.add(uint16(slot))
			some = true
		}
	}
	if !some {
		return nil
	}
	return &handed
}

// shard returns the shard of a slot, or nil if nobody serves it.
func (t *topology) shard(slot int) *shard {
	if i := t.slots[slot]; i != noShard {
		return t.shards[i]
	}
	return nil
}

// masters are the addresses of those that serve slots.
func (t *topology) masters() (addrs []string) {
	for _, s := range t.shards {
		if s.master.addr != "" {
			addrs = append(addrs, s.master.addr)
		}
	}
	return addrs
}

// find returns the node of an address, or nil if the topology does not have it.
// A master is preferred to a replica of the same address.
func (t *topology) find(addr string) *node {
	var found *node
	for _, n := range t.nodes {
		if n.addr != addr && n.addr != t.aliases[addr] {
			continue
		}
		if !n.replica {
			return n
		}
		found = n
	}
	return found
}
