package rediscluster

import "github.com/joomcode/redispipe/rediscluster/redisclusterutil"

// coverage says which slots a scan has still to walk, so that a key comes though
// its slot moves. Keys move with their slots only, from the owner to the one that
// imports it. So those of a slot have all come if its owner
//
//   - had it, with nobody importing it, both before and after its walk; or
//   - gave it away after its walk, and the node that imports it was walked later,
//     and was importing it, or had it, both before and after that.
//
// In all other cases the slot is walked again, wherever it is then. Both need to
// be asked of the node that is walked: what others know comes late.
type coverage struct {
	left slotSet
	// tried are the slots of left that were walked in the present round.
	tried slotSet
	// heirs are the addresses of the nodes that import what was left of a slot
	// when its owner had been walked.
	heirs map[uint16]string
}

func newCoverage(t *topology) *coverage {
	c := &coverage{heirs: make(map[uint16]string)}
	for slot, shard := range t.slots {
		if shard != noShard {
			c.left.add(uint16(slot))
		}
	}
	return c
}

// holdings are the slots of a node as it says itself.
type holdings struct {
	owned slotSet
	// leaving are the addresses that slots are being moved to, coming are slots
	// that are being moved here.
	leaving map[uint16]string
	coming  slotSet
}

// newHoldings makes holdings of a node's answer to CLUSTER NODES.
func newHoldings(nodes redisclusterutil.InstanceInfos) *holdings {
	h := &holdings{leaving: make(map[uint16]string)}
	me := nodes.MySelf()
	if me == nil || !me.IsMaster() {
		return h
	}
	for _, slots := range me.Slots {
		for slot := int(slots[0]); slot <= int(slots[1]); slot++ {
			h.owned.add(uint16(slot))
		}
	}
	for _, m := range me.Migrating {
		if m.Moving == redisclusterutil.SlotImporting {
			h.coming.add(m.Number)
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

// target returns a slot to be walked next, and the node that is to be; nil at the
// end of a round. Slots that nobody serves at present are skipped.
func (c *coverage) target(t *topology) (slot int, n *node) {
	for slot := range t.slots {
		if !c.left.has(slot) || c.tried.has(slot) {
			continue
		}
		c.tried.add(uint16(slot))
		if n := c.holder(t, slot); n != nil {
			return slot, n
		}
	}
	return 0, nil
}

// holder is the node where the keys are that have not come of a slot.
func (c *coverage) holder(t *topology, slot int) *node {
	if addr, moving := c.heirs[uint16(slot)]; moving {
		return t.find(addr)
	}
	if s := t.shard(slot); s != nil {
		return s.master
	}
	return nil
}

// walked notes what a whole walk of a node has covered, and reports whether it
// has brought the scan further.
func (c *coverage) walked(t *topology, n *node, before, after *holdings) (progress bool) {
	for i := range t.slots {
		slot := uint16(i)
		if !c.left.has(i) {
			continue
		}
		heir, inherited := c.heirs[slot]
		inherited = inherited && t.find(heir) == n
		_, wasLeaving := before.leaving[slot]
		to, leaves := after.leaving[slot]
		here := before.has(i, inherited) && after.has(i, inherited)
		switch {
		case here && !wasLeaving && !leaves:
			c.left.remove(slot)
			delete(c.heirs, slot)
			progress = true
		case here && leaves && !inherited:
			c.heirs[slot] = to
			c.tried.remove(slot)
		case inherited:
			delete(c.heirs, slot)
			c.tried.add(slot)
		case c.holder(t, i) == n:
			c.tried.add(slot)
		}
	}
	return progress
}

// has reports whether the node has the slot, or imports it, if that counts.
func (h *holdings) has(slot int, coming bool) bool {
	return h.owned.has(slot) || coming && h.coming.has(slot)
}

// newRound begins another round, unless all is covered.
func (c *coverage) newRound() (done bool) {
	c.tried = slotSet{}
	return c.left == slotSet{}
}
