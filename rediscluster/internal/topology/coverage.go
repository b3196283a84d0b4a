package topology

import "github.com/joomcode/redispipe/rediscluster/redisclusterutil"

// Coverage records which slots a scan still has to walk, so that the scan finds keys even if their
// slots move. Keys move only with their slot, from its owner to the node that imports it. So the scan
// has found all keys of a slot in two cases:
//
//   - Before and after the walk of a node, the node owned the slot, and no node was importing it.
//   - After the walk of the owner, another node was importing the slot. That node was walked later,
//     and was importing or owning the slot both before and after its walk.
//
// In all other cases the scan walks the slot again, on the node that then has it. Each walked node
// itself must report its slots, because other nodes learn of changes late.
type Coverage struct {
	left SlotSet
	// tried holds the slots of left that were chosen or walked in the present round.
	tried SlotSet
	// importers maps a slot to the address of the node that was importing it when the walk of its
	// owner ended. That node has the keys that the walk did not find.
	importers map[uint16]string
}

// NewCoverage returns the coverage of a new scan: all slots that have an owner are left.
func NewCoverage(l *Layout) *Coverage {
	c := &Coverage{importers: make(map[uint16]string)}
	for slot, shard := range l.Slots {
		if shard != NoShard {
			c.left.Add(uint16(slot))
		}
	}
	return c
}

// Target returns the slot to walk next and the address of the node that has its keys. At the end of a
// round it returns -1. It skips slots that no node serves at present.
func (c *Coverage) Target(l *Layout) (slot int, addr string) {
	for slot := range l.Slots {
		if !c.Left(slot) || c.tried.Has(slot) {
			continue
		}
		c.tried.Add(uint16(slot))
		if addr, served := c.holder(l, slot); served {
			return slot, addr
		}
	}
	return -1, ""
}

// Abandon puts a slot back into the present round, because the walk for it has ended early.
func (c *Coverage) Abandon(slot int) { c.tried.remove(uint16(slot)) }

// Left reports whether keys of a slot are still missing.
func (c *Coverage) Left(slot int) bool { return c.left.Has(slot) }

// holder returns the address of the node to walk for the missing keys of a slot, if any node serves
// the slot.
func (c *Coverage) holder(l *Layout, slot int) (addr string, served bool) {
	if addr, moving := c.importers[uint16(slot)]; moving {
		if l.Find(addr) >= 0 {
			return addr, true
		}
		delete(c.importers, uint16(slot)) // a node that has left imports nothing
	}
	return l.masterOf(slot)
}

// Walked records which slots a complete walk of the node at addr has covered, and reports whether it has
// covered any. before and after are the node's own reports.
func (c *Coverage) Walked(l *Layout, addr string, before, after *NodeSlots) (progress bool) {
	at := l.Find(addr)
	for i := range l.Slots {
		slot := uint16(i)
		if !c.Left(i) {
			continue
		}
		importer, moving := c.importers[slot]
		importing := moving && at >= 0 && l.Find(importer) == at
		_, wasLeaving := before.leaving[slot]
		to, leaves := after.leaving[slot]
		here := before.has(i, importing) && after.has(i, importing)
		switch {
		case here && !wasLeaving && !leaves:
			c.left.remove(slot)
			delete(c.importers, slot)
			progress = true
		case here && leaves && !importing && l.Find(to) >= 0:
			c.importers[slot] = to
			c.tried.remove(slot)
		case importing:
			delete(c.importers, slot)
			c.tried.Add(slot)
		case !moving:
			if master, _ := l.masterOf(i); master == addr {
				c.tried.Add(slot)
			}
		}
	}
	return progress
}

// NewRound starts another round, unless all slots are covered.
func (c *Coverage) NewRound() (done bool) {
	c.tried = SlotSet{}
	return c.left == SlotSet{}
}

// NodeSlots are the slots of a node, as the node itself reports them.
type NodeSlots struct {
	owned SlotSet
	// leaving maps slots that move away to their new addresses; coming are the slots that move to this
	// node.
	leaving map[uint16]string
	coming  SlotSet
}

// NodeSlotsOf returns the slots in a node's answer to CLUSTER NODES.
func NodeSlotsOf(nodes redisclusterutil.InstanceInfos) *NodeSlots {
	h := &NodeSlots{leaving: make(map[uint16]string)}
	me := nodes.MySelf()
	if me == nil || !me.IsMaster() {
		return h
	}
	for _, slots := range me.Slots {
		for slot := int(slots[0]); slot <= int(slots[1]); slot++ {
			h.owned.Add(uint16(slot))
		}
	}
	for _, m := range me.Migrating {
		if m.Moving == redisclusterutil.SlotImporting {
			h.coming.Add(m.Number)
			continue
		}
		for _, n := range nodes { // if the peer is not among them it has left, and the keys that it got are lost
			if n.Uuid == m.Peer {
				h.leaving[m.Number] = n.Addr
			}
		}
	}
	return h
}

// NodeSlots returns the slots of the node at an address according to the layout.
func (l *Layout) NodeSlots(addr string) *NodeSlots {
	h := &NodeSlots{}
	for slot := range l.Slots {
		if master, served := l.masterOf(slot); served && master == addr {
			h.owned.Add(uint16(slot))
		}
	}
	return h
}

// has reports whether the node has the slot or, if coming is set, imports it.
func (h *NodeSlots) has(slot int, coming bool) bool {
	return h.owned.Has(slot) || coming && h.coming.Has(slot)
}
