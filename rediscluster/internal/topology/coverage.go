package topology

import "github.com/joomcode/redispipe/rediscluster/redisclusterutil"

// Coverage says which slots a scan has still to walk, so that keys are found even if
// their slots move. Keys move only with their slots, from the owner to the node that
// imports the slot. So all keys of a slot were found if its owner
//
//   - had it, with nobody importing it, both before and after its walk; or
//   - gave it away after its walk, and the node that imports it was walked later,
//     and was importing it, or had it, both before and after that.
//
// In all other cases the slot is walked again, wherever it is then. The walked node
// itself has to be asked, since others learn of changes late.
type Coverage struct {
	left SlotSet
	// tried are the slots of left that were walked in the present round.
	tried SlotSet
	// importers are the addresses of the nodes that were importing a slot when the walk of
	// its owner had ended, and so have the rest of its keys.
	importers map[uint16]string
}

// NewCoverage returns that of a scan which begins: all slots that somebody serves are left.
func NewCoverage(l *Layout) *Coverage {
	c := &Coverage{importers: make(map[uint16]string)}
	for slot, shard := range l.Slots {
		if shard != NoShard {
			c.left.Add(uint16(slot))
		}
	}
	return c
}

// Target returns a slot to be walked next, and the address of the node that has its keys; -1
// at the end of a round. Slots that nobody serves at present are skipped.
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

// Left reports whether keys of a slot have still to come.
func (c *Coverage) Left(slot int) bool { return c.left.Has(slot) }

// holder returns the address of the node that has the keys of a slot which were not found
// yet, if there is one.
func (c *Coverage) holder(l *Layout, slot int) (addr string, served bool) {
	if addr, moving := c.importers[uint16(slot)]; moving {
		if l.Find(addr) >= 0 {
			return addr, true
		}
		delete(c.importers, uint16(slot)) // who has left imports nothing
	}
	return l.masterOf(slot)
}

// Walked notes which slots a whole walk of the node of an address has covered, and reports
// whether there are any.
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

// NewRound begins another round, unless all is covered.
func (c *Coverage) NewRound() (done bool) {
	c.tried = SlotSet{}
	return c.left == SlotSet{}
}

// NodeSlots are the slots of a node as it says itself.
type NodeSlots struct {
	owned SlotSet
	// leaving are the addresses that slots are being moved to, coming are slots
	// that are being moved here.
	leaving map[uint16]string
	coming  SlotSet
}

// NodeSlotsOf takes them from a node's answer to CLUSTER NODES.
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
		for _, n := range nodes { // what went to one that has left is lost
			if n.Uuid == m.Peer {
				h.leaving[m.Number] = n.Addr
			}
		}
	}
	return h
}

// NodeSlots are those of the node of an address as far as the layout knows.
func (l *Layout) NodeSlots(addr string) *NodeSlots {
	h := &NodeSlots{}
	for slot := range l.Slots {
		if master, served := l.masterOf(slot); served && master == addr {
			h.owned.Add(uint16(slot))
		}
	}
	return h
}

// has reports whether the node has the slot, or imports it, if that counts.
func (h *NodeSlots) has(slot int, coming bool) bool {
	return h.owned.Has(slot) || coming && h.coming.Has(slot)
}
